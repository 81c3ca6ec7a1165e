#include "record/import/gssr_json.h"

#include "core/python_json.h"
#include "core/text.h"
#include "record/import/bounds.h"
#include "record/import/names.h"
#include "record/import/seconds.h"

#include <algorithm>
#include <cmath>

namespace belay::record {

using core::bad_input;
using core::Result;
using Json = core::OrderedJson;

namespace {

constexpr double kLongestPeriod = 3600;  // s

// NaN and infinite, as Python writes what it does not have, are missing.
double number_of(const Json& value) {
    double number = value.is_number() ? value.get<double>() : kMissing;
    return std::isfinite(number) ? number : kMissing;
}

double number_at(const Json& object, const char* key) {
    auto found = object.find(key);
    return found == object.end() ? kMissing : number_of(*found);
}

std::optional<int64_t> integer_at(const Json& object, const char* key) {
    double number = number_at(object, key);
    constexpr double kExact = 9e15;
    if (!(std::abs(number) < kExact)) return std::nullopt;
    return static_cast<int64_t>(number);
}

std::string text_at(const Json& object, const char* key) {
    auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Of so many samples that they would end after any date, the end.
core::Duration bounded(double seconds) {
    return duration_of(std::min<double>(seconds, kLatestSeconds));
}

std::optional<core::Time> time_at(const Json& object, const char* key) {
    double seconds = number_at(object, key);
    if (!(seconds > 0 && seconds < kLatestSeconds)) return std::nullopt;
    return core::Time(bounded(seconds));
}

void read_metadata(const Json& metadata, GssrJson& read) {
    if (!metadata.is_object()) return;
    read.job_id = integer_at(metadata, "job_id");
    read.step_id = integer_at(metadata, "step_id");
    read.rank = integer_at(metadata, "proc_id");
    read.label = short_name(text_at(metadata, "label"));
    read.host = short_name(text_at(metadata, "hostname"));
    read.command = text_at(metadata, "cmd");
    read.start = time_at(metadata, "start_time");
    read.end = time_at(metadata, "end_time");
    double period = number_at(metadata, "sampling_time") / 1000;
    if (period > 0 && period < kLongestPeriod) read.period_seconds = period;
}

size_t samples_in(const Json& tags) {
    size_t samples = 0;
    for (const GssrFieldFacts& facts : kGssrFieldFacts) {
        auto series = facts.tag.empty() ? tags.end() : tags.find(facts.tag);
        if (series != tags.end() && series->is_array()) samples = std::max(samples, series->size());
    }
    return samples;
}

std::vector<GssrRow> read_series(const Json& tags, int64_t gpu) {
    std::vector<GssrRow> rows(samples_in(tags), GssrRow{.gpu = gpu});
    for (const GssrFieldFacts& facts : kGssrFieldFacts) {
        auto series = facts.tag.empty() ? tags.end() : tags.find(facts.tag);
        if (series == tags.end() || !series->is_array()) continue;
        for (size_t i = 0; i < series->size(); ++i) rows[i][facts.field].average = number_of((*series)[i]);
    }
    for (GssrRow& row : rows) drop_impossible(row);
    return rows;
}

}  // namespace

size_t GssrJson::samples() const {
    size_t most = 0;
    for (const auto& [gpu, rows] : gpus) most = std::max(most, rows.size());
    return most;
}

double GssrJson::spacing_seconds() const {
    if (!start || !end || samples() == 0) return period_seconds;
    double spacing = core::to_seconds(*end - *start) / static_cast<double>(samples());
    // Of a recording that was cut off at its beginning the length says nothing.
    return spacing >= period_seconds && spacing < 2 * period_seconds ? spacing : period_seconds;
}

core::Time GssrJson::time_of(size_t sample) const {
    double spacing = spacing_seconds();
    if (!end) return start.value_or(core::Time()) + bounded(spacing * static_cast<double>(sample));
    return *end - bounded(spacing * static_cast<double>(samples() - std::min(sample, samples())));
}

Result<GssrJson> parse_gssr_json(std::string_view text, const std::string& file) {
    auto document = core::parse_python_json(text);
    if (!document)
        return std::unexpected(std::move(document.error())
                                   .context(fmt::format("{} is not JSON", file))
                                   .hint("the file may be cut off; export it again"));
    if (!document->is_object()) return bad_input("{} is not a JSON object", file);
    auto data = document->find("data");
    if (data == document->end() || !data->is_object()) return bad_input("{} has no \"data\"", file);
    GssrJson read;
    if (auto metadata = document->find("metadata"); metadata != document->end())
        read_metadata(*metadata, read);
    std::map<int64_t, const Json*> gpus;
    size_t samples = 0;
    for (const auto& [key, tags] : data->items()) {
        auto gpu = core::parse_number<int64_t>(key);
        if (!gpu || *gpu < 0 || *gpu >= kMostGpus || !tags.is_object()) continue;
        gpus[*gpu] = &tags;
        samples += samples_in(tags);
    }
    if (samples > kMostGssrSamples)
        return bad_input("{} holds {} samples of GPUs, and at most {} are read of one file", file, samples,
                         kMostGssrSamples);
    for (const auto& [gpu, tags] : gpus) read.gpus[gpu] = read_series(*tags, gpu);
    return read;
}

}  // namespace belay::record
