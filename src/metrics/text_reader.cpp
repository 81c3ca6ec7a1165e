#include "metrics/text_reader.h"

#include "core/text.h"
#include "core/utf8.h"
#include "metrics/number_text.h"
#include "metrics/text_encoder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace belay::metrics {

namespace {

using core::Result;

// What stands before `end`, taken off the text with it; nothing where `end` does not come.
std::optional<std::string_view> take_before(std::string_view& text, std::string_view end) {
    const size_t at = text.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view part = text.substr(0, at);
    text.remove_prefix(at + end.size());
    return part;
}

bool take(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

// The inverse of what the encoder does, up to the quote that ends it, or to the end of the text.
std::optional<std::string> take_unescaped(std::string_view& text, bool quoted) {
    std::string out;
    while (!text.empty()) {
        const char c = text.front();
        text.remove_prefix(1);
        if (c == '"' && quoted) return out;
        if (c != '\\') {
            out += c;
            continue;
        }
        if (text.empty()) return std::nullopt;
        out += text.front() == 'n' ? '\n' : text.front();
        text.remove_prefix(1);
    }
    return quoted ? std::nullopt : std::optional(std::move(out));
}

struct SampleLine {
    std::string_view name;
    Labels labels;
    std::optional<std::string> bound;
    std::string_view value;
    std::optional<core::Time> time;
};

class TextReader {
  public:
    explicit TextReader(TextForm form) : form_(form) {}

    Result<std::vector<Family>> read(std::string_view text);

  private:
    bool is_open_metrics() const { return form_ == TextForm::kOpenMetrics; }

    Result<> line(std::string_view text);
    Result<> descriptor(std::string_view text);
    Result<> begin_family(std::string_view name, std::string_view type);
    Result<> sample(std::string_view text);
    Result<SampleLine> parse_sample(std::string_view text) const;
    Result<> add_to_histogram(Family& family, SampleLine line);

    TextForm form_;
    std::vector<Family> families_;
    std::string help_of_;  // of Prometheus' form: for which family the help before its type is
    std::string help_;
    bool ended_ = false;
};

Result<std::vector<Family>> TextReader::read(std::string_view text) {
    const std::string_view all = text;
    size_t number = 0;
    while (!text.empty()) {
        ++number;
        auto one = take_before(text, "\n");
        if (!one) return core::bad_input("line {}: it does not end", number);
        if (ended_) return core::bad_input("line {}: something comes after # EOF", number);
        BELAY_CHECK(core::with_context(line(*one), fmt::format("line {}", number)));
    }
    if (is_open_metrics() && !ended_) return core::bad_input("# EOF is missing: the text was cut off");
    BELAY_TRY(again, encode_text(families_, form_));
    if (again == all) return std::move(families_);
    const auto differ = std::ranges::mismatch(again, all).in2 - all.begin();
    return core::bad_input("line {}: not as Belay writes it",
                           1 + std::ranges::count(all.substr(0, static_cast<size_t>(differ)), '\n'));
}

Result<> TextReader::line(std::string_view text) {
    if (text == "# EOF" && is_open_metrics()) {
        ended_ = true;
        return {};
    }
    return take(text, "# ") ? descriptor(text) : sample(text);
}

Result<> TextReader::descriptor(std::string_view text) {
    auto word = take_before(text, " ");
    auto name = take_before(text, " ");
    if (!word || !name) return core::bad_input("not a line that describes a family");
    if (*word == "TYPE") return begin_family(*name, text);
    if (*word == "HELP" && !is_open_metrics()) {
        auto help = take_unescaped(text, false);
        if (!help || !help_of_.empty()) return core::bad_input("a help that is not one");
        help_of_ = *name;
        help_ = std::move(*help);
        return {};
    }
    if (families_.empty() || stem(families_.back()) != *name)
        return core::bad_input("it describes \"{}\", which is not the family before it",
                               core::printable(*name));
    if (*word == "UNIT") {
        families_.back().unit = text;
        return {};
    }
    auto help = *word == "HELP" ? take_unescaped(text, false) : std::nullopt;
    if (!help) return core::bad_input("not a line that describes a family");
    families_.back().help = std::move(*help);
    return {};
}

Result<> TextReader::begin_family(std::string_view name, std::string_view type) {
    auto row = std::ranges::find(kMetricTypes, type, &MetricTypeRow::name);
    if (row == std::end(kMetricTypes)) return core::bad_input("\"{}\" is not a type", core::printable(type));
    const std::string_view info_suffix = row_of(MetricType::kInfo).suffix;
    Family family{.name = std::string(name), .type = row->type};
    if (is_open_metrics())
        family.name += row->suffix;
    else if (row->type == MetricType::kGauge && name.ends_with(info_suffix))
        family.type = MetricType::kInfo;
    if (!help_of_.empty() && help_of_ != name)
        return core::bad_input("the help before it is another family's");
    family.help = std::exchange(help_, {});
    help_of_.clear();
    families_.push_back(std::move(family));
    return {};
}

Result<SampleLine> TextReader::parse_sample(std::string_view text) const {
    SampleLine line;
    const size_t name_end = text.find_first_of("{ ");
    if (name_end == std::string_view::npos) return core::bad_input("neither a sample nor a description");
    line.name = text.substr(0, name_end);
    text.remove_prefix(name_end);
    if (take(text, "{")) {
        do {
            auto name = take_before(text, "=\"");
            auto value = name ? take_unescaped(text, true) : std::nullopt;
            if (!value) return core::bad_input("a label that does not end");
            if (*name == "le")
                line.bound = std::move(*value);
            else
                line.labels.push_back({std::string(*name), std::move(*value)});
        } while (take(text, ","));
        if (!take(text, "}")) return core::bad_input("labels that do not end");
    }
    if (!take(text, " ")) return core::bad_input("a sample without a value");
    auto value = take_before(text, " ");
    line.value = value ? *value : text;
    if (!value) return line;
    if (is_open_metrics())
        line.time = parse_seconds_text(text);
    else if (auto milliseconds = core::parse_number<int64_t>(text))
        line.time = time_of_milliseconds(*milliseconds);
    if (!line.time) return core::bad_input("\"{}\" is not a time", core::printable(text));
    return line;
}

Result<> TextReader::sample(std::string_view text) {
    BELAY_TRY(line, parse_sample(text));
    if (families_.empty() || !help_of_.empty())
        return core::bad_input("a sample without the type of its family");
    Family& family = families_.back();
    if (family.type == MetricType::kHistogram) return add_to_histogram(family, std::move(line));
    if (line.name != family.name || line.bound)
        return core::bad_input("a sample of \"{}\" among those of {}", core::printable(line.name),
                               core::printable(family.name));
    auto value = parse_number_text(line.value);
    if (!value) return core::bad_input("\"{}\" is not a number", core::printable(line.value));
    family.samples.push_back({std::move(line.labels), *value, line.time});
    return {};
}

Result<> TextReader::add_to_histogram(Family& family, SampleLine line) {
    // A histogram ends with its bucket +Inf; the order of what follows is seen when it is written again.
    auto* last = family.samples.empty() ? nullptr : std::get_if<Histogram>(&family.samples.back().value);
    const bool whole = last == nullptr || last->counts.size() > last->bounds.size();
    std::string_view part = line.name;
    if (!take(part, family.name))
        return core::bad_input("\"{}\" among the samples of {}", core::printable(line.name),
                               core::printable(family.name));
    if (part == "_bucket" && line.bound) {
        auto bound = parse_bound_text(*line.bound);
        auto count = core::parse_number<uint64_t>(line.value);
        if (!bound || !count) return core::bad_input("a bucket without a bound and a count");
        if (whole) {
            family.samples.push_back({std::move(line.labels), Histogram{}, line.time});
            last = &std::get<Histogram>(family.samples.back().value);
        }
        if (std::isfinite(*bound)) last->bounds.push_back(*bound);
        last->counts.push_back(*count);
        return {};
    }
    if (last == nullptr || line.bound || !whole)
        return core::bad_input("a part of a histogram without its buckets");
    if (part == "_count") return {};
    auto sum = part == "_sum" ? parse_number_text(line.value) : std::nullopt;
    if (!sum || last->sum) return core::bad_input("not a part of a histogram");
    last->sum = sum;
    return {};
}

}  // namespace

Result<std::vector<Family>> read_text(std::string_view text, TextForm form) {
    return TextReader(form).read(text);
}

}  // namespace belay::metrics
