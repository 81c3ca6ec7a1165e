#include "metrics/model.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace belay::metrics {

namespace {

using core::bad_input;
using core::printable;
using core::Result;

// Names that mean parts of other types: a gauge that ends so would be taken for one.
constexpr std::string_view kReservedSuffixes[] = {"_total",   "_info", "_bucket", "_count",
                                                  "_created", "_sum",  "_gcount", "_gsum"};
// Labels by which histograms and summaries tell their own series apart.
constexpr std::string_view kReservedLabels[] = {"le", "quantile"};

// Units that are not base units, and what to use (client_golang, promlint/validations/units.go).
struct OtherUnit {
    std::string_view word;
    std::string_view base;
};
constexpr OtherUnit kOtherUnits[] = {
    {"minutes", "seconds"},    {"hours", "seconds"},   {"days", "seconds"},   {"weeks", "seconds"},
    {"fahrenheit", "celsius"}, {"bits", "bytes"},      {"percent", "ratio"},  {"percentage", "ratio"},
    {"calories", "joules"},    {"pounds", "grams"},    {"ounces", "grams"},   {"inches", "meters"},
    {"miles", "meters"},       {"rankine", "celsius"}, {"kelvins", "kelvin"}, {"yards", "meters"},
};
constexpr std::string_view kBaseUnits[] = {"seconds", "bytes",   "joules",  "watts", "hertz",
                                           "volts",   "amperes", "celsius", "grams", "meters"};
constexpr std::string_view kPrefixes[] = {"pico", "nano", "micro", "milli", "centi", "deci", "kilo", "kibi",
                                          "mega", "mebi", "giga",  "gibi",  "tera",  "tebi", "peta", "pebi"};

constexpr size_t kMostNameBytes = 200;

bool is_lower(char c) {
    return (c >= 'a' && c <= 'z') || c == '_';
}
bool is_letter(char c) {
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// The base unit that a word of a name should have been; "" where nothing is wrong with it.
std::string_view base_unit_for(std::string_view word) {
    for (const OtherUnit& other : kOtherUnits)
        if (word == other.word) return other.base;
    for (std::string_view prefix : kPrefixes)
        if (word.starts_with(prefix))
            for (std::string_view base : kBaseUnits)
                if (word.substr(prefix.size()) == base) return base;
    return {};
}

Result<> check_characters(std::string_view name) {
    if (name.size() > kMostNameBytes)
        return bad_input("the name of a metric has {} bytes; at most {} are taken", name.size(),
                         kMostNameBytes);
    const bool plain = !name.empty() && is_lower(name.front()) &&
                       std::ranges::all_of(name, [](char c) { return is_lower(c) || is_digit(c); });
    if (!plain)
        return bad_input("\"{}\" cannot be the name of a metric", printable(name))
            .hint("a lower-case letter, then lower-case letters, digits and _");
    return {};
}

Result<> check_suffix(const Family& family) {
    const MetricTypeRow& type = row_of(family.type);
    if (!family.name.ends_with(type.suffix) || stem(family).empty())
        return bad_input("{}: the name of {} {} ends in {}", family.name,
                         family.type == MetricType::kInfo ? "an" : "a", type.name, type.suffix);
    for (std::string_view suffix : kReservedSuffixes)
        if (stem(family).ends_with(suffix))
            return bad_input("{}: {} at the end of \"{}\" means another type than {}", family.name, suffix,
                             stem(family), type.name);
    return {};
}

Result<> check_unit(const Family& family) {
    for (std::string_view word : core::split(stem(family), '_'))
        if (std::string_view base = base_unit_for(word); !base.empty())
            return bad_input("{}: {} are not a base unit", family.name, word)
                .hint(fmt::format("convert the values to {}", base));
    if (family.unit.empty()) return {};
    if (family.type == MetricType::kInfo) return bad_input("{}: an info has no unit", family.name);
    if (!stem(family).ends_with("_" + family.unit))
        return bad_input("{}: its unit is {}, so \"{}\" must end in _{}", family.name, printable(family.unit),
                         stem(family), printable(family.unit));
    return {};
}

Result<> check_histogram(const Family& family, const Histogram& histogram) {
    const std::vector<double>& bounds = histogram.bounds;
    const bool ascending =
        std::ranges::all_of(bounds, [](double bound) { return std::isfinite(bound); }) &&
        std::ranges::adjacent_find(bounds, [](double a, double b) { return a >= b; }) == bounds.end();
    if (!ascending) return bad_input("{}: the bounds of its buckets must ascend and be finite", family.name);
    if (histogram.counts.size() != bounds.size() + 1)
        return bad_input("{}: {} bounds need {} counts, not {}", family.name, bounds.size(),
                         bounds.size() + 1, histogram.counts.size());
    if (!std::ranges::is_sorted(histogram.counts))
        return bad_input("{}: the counts of buckets are cumulative and cannot fall", family.name);
    if (!histogram.sum) return {};
    if (!bounds.empty() && bounds.front() < 0)
        return bad_input("{}: a histogram with bounds below 0 has no sum", family.name);
    if (!(*histogram.sum >= 0)) return bad_input("{}: a sum of {}", family.name, *histogram.sum);
    return {};
}

struct SeriesSoFar {
    Labels labels;
    std::optional<core::Time> time;
};

}  // namespace

std::string_view stem(const Family& family) {
    std::string_view name = family.name;
    std::string_view suffix = row_of(family.type).suffix;
    return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

Labels identity_of(const Labels& labels) {
    Labels out;
    out.reserve(labels.size());
    for (const Label& label : labels)
        if (!label.value.empty()) out.push_back({label.name, core::to_valid_utf8(label.value)});
    std::ranges::sort(out);
    return out;
}

Result<> check_name(const Family& family) {
    BELAY_CHECK(check_characters(family.name));
    BELAY_CHECK(check_suffix(family));
    return check_unit(family);
}

Result<> check_labels(const Labels& labels) {
    for (size_t i = 0; i < labels.size(); ++i) {
        const std::string& name = labels[i].name;
        const bool plain = !name.empty() && name.size() <= kMostNameBytes && is_letter(name.front()) &&
                           std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c); });
        if (!plain)
            return bad_input("\"{}\" cannot be the name of a label",
                             printable(core::utf8_prefix(name, kMostNameBytes)))
                .hint("a letter, then letters, digits and _");
        if (name.starts_with("__")) return bad_input("label {}: __ at the start is Prometheus' own", name);
        if (std::ranges::find(kReservedLabels, name) != std::end(kReservedLabels))
            return bad_input("label {}: histograms and summaries use it for themselves", name);
        for (size_t before = 0; before < i; ++before)
            if (labels[before].name == name) return bad_input("label {} stands there twice", name);
    }
    return {};
}

Result<> check_sample(const Family& family, const Sample& sample) {
    BELAY_CHECK(core::with_context(check_labels(sample.labels), family.name));
    const auto* histogram = std::get_if<Histogram>(&sample.value);
    if ((histogram != nullptr) != (family.type == MetricType::kHistogram))
        return bad_input("{}: a {} with the value of {}", family.name, row_of(family.type).name,
                         histogram != nullptr ? "a histogram" : "another type");
    if (histogram != nullptr) return check_histogram(family, *histogram);
    const double value = std::get<double>(sample.value);
    if (family.type == MetricType::kCounter && !(value >= 0))
        return bad_input("{}: a counter cannot be {}", family.name, value);
    if (family.type == MetricType::kInfo && value != 1)
        return bad_input("{}: the value of an info is 1, not {}", family.name, value);
    return {};
}

Result<> check(const Family& family) {
    BELAY_CHECK(check_name(family));
    std::set<Labels> ended;
    std::optional<SeriesSoFar> now;
    for (const Sample& sample : family.samples) {
        BELAY_CHECK(check_sample(family, sample));
        Labels labels = identity_of(sample.labels);
        if (now && now->labels == labels) {
            if (!now->time || !sample.time || *sample.time <= *now->time)
                return bad_input("{}: two samples of one series, of which the second has no later time",
                                 family.name);
            now->time = sample.time;
            continue;
        }
        if (now) ended.insert(std::move(now->labels));
        if (ended.contains(labels))
            return bad_input("{}: samples of one series do not stand together", family.name)
                .hint("sort the samples by their labels");
        now = SeriesSoFar{std::move(labels), sample.time};
    }
    return {};
}

Result<> check(std::span<const Family> families) {
    std::set<std::string_view> names;
    for (const Family& family : families) {
        BELAY_CHECK(check(family));
        if (!names.insert(stem(family)).second)
            return bad_input("two families have the name {}", stem(family));
    }
    return {};
}

void keep_newest(std::vector<Family>& families) {
    for (Family& family : families) {
        std::vector<std::pair<Labels, Sample>> sorted;
        sorted.reserve(family.samples.size());
        for (Sample& sample : family.samples) {
            Labels labels = identity_of(sample.labels);
            sorted.emplace_back(std::move(labels), std::move(sample));
        }
        auto time_of = [](const Sample& sample) { return sample.time.value_or(core::Time::max()); };
        std::ranges::stable_sort(sorted, [&](const auto& a, const auto& b) {
            return a.first != b.first ? a.first < b.first : time_of(a.second) < time_of(b.second);
        });
        family.samples.clear();
        for (size_t i = 0; i < sorted.size(); ++i)
            if (i + 1 == sorted.size() || sorted[i].first != sorted[i + 1].first)
                family.samples.push_back(std::move(sorted[i].second));
    }
}

}  // namespace belay::metrics
