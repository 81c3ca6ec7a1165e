#include "report/json_parts.h"

#include "findings/report_text.h"
#include "findings/value_text.h"
#include "report/gpu_report.h"
#include "report/json.h"
#include "report/plots.h"
#include "score/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace belay::report {

using Json = nlohmann::ordered_json;

namespace {

// Above this many values of a quantity each takes a byte: a screen has no room to show more.
constexpr size_t kMostPreciseCells = 40'000;

// The highest value of the type stands for missing.
template <typename Packed>
std::string pack(const std::vector<double>& values, double maximum) {
    constexpr Packed kMissingValue = static_cast<Packed>(~Packed{0});
    constexpr double kTop = kMissingValue - 1;
    std::string bytes;
    bytes.reserve(values.size() * sizeof(Packed));
    for (double value : values) {
        Packed q = kMissingValue;
        if (!is_missing(value))
            q = maximum > 0 ? static_cast<Packed>(std::lround(std::clamp(value / maximum, 0.0, 1.0) * kTop))
                            : Packed{0};
        for (size_t byte = 0; byte < sizeof(Packed); ++byte)
            bytes += static_cast<char>(q >> (8 * byte) & 0xff);
    }
    return bytes;
}

Json metric_json(const NodeMetric& metric) {
    double maximum = metric.top.value_or(0);
    for (double value : metric.values)
        if (!is_missing(value)) maximum = std::max(maximum, value);
    bool precise = metric.values.size() <= kMostPreciseCells;
    return {{"id", metric.id},
            {"label", metric.label},
            {"unit", metric.unit},
            {"maximum", number(maximum)},
            {"means", numbers(metric.means)},
            {"peaks", numbers(metric.peaks)},
            {"bits", precise ? 16 : 8},
            {"values", base64(precise ? pack<uint16_t>(metric.values, maximum)
                                      : pack<uint8_t>(metric.values, maximum))}};
}

// A page needs no more than six digits.
Json rounded(Json json) {
    if (json.is_number_float()) return number(json.get<double>());
    for (Json& part : json)  // also of an object, its values
        if (part.is_structured() || part.is_number_float()) part = rounded(std::move(part));
    return json;
}

// As `belay score --json` tells it, and what a page says of it.
Json score_json(const score::JobScore& job) {
    Json json = rounded(score::summary_json(job));
    json["bound"] = bound_text(job).empty() ? Json() : Json(bound_text(job));
    json["word"] = is_graded(job) ? Json(score_word(job.score.point)) : Json();
    json["gpu_hours"] = number(gpu_hours(job));
    return json;
}

Json device_json(const GpuFacts& gpu) {
    Json json = {{"label", gpu.label}, {"model", gpu.model}, {"weight", number(gpu.weight)}};
    json.update(rounded(score::to_json(gpu.part)));
    json.update({{"compute", number(gpu.compute)},
                 {"memory", number(gpu.memory)},
                 {"power_watts", number(gpu.power_watts)},
                 {"temperature", number(gpu.temperature)},
                 {"energy_wh", number(gpu.energy_wh)},
                 {"memory_peak_bytes", number(gpu.memory_peak_bytes)}});
    return json;
}

Json histogram_json(const Histogram& histogram) {
    return {{"id", histogram.id},
            {"label", histogram.label},
            {"note", histogram.note},
            {"shares", numbers(histogram.shares)},
            {"startup", numbers(histogram.startup)}};
}

Json ceiling_json(const CeilingFacts& ceiling) {
    return {{"name", ceiling.name},
            {"gpus", ceiling.gpus},
            {"calibrated", ceiling.calibrated},
            {"version", ceiling.version},
            {"source", ceiling.source},
            {"clock_hertz", number(ceiling.clock_hertz)},
            {"active", numbers(ceiling.active)}};
}

// As `belay findings --json` tells it, but in seconds since the start of the report, with evidence in words
// too and without the single nodes and devices.
Json finding_json(const findings::Finding& finding, core::Time start) {
    Json evidence = Json::array();
    for (const findings::Evidence& one : finding.evidence)
        evidence.push_back({{"name", one.name},
                            {"value", number(record::as_double(one.value))},
                            {"unit", one.unit},
                            {"text", findings::value_text(one.value, one.unit)}});
    Json json = findings::to_json(finding);
    json["start"] = number(core::to_seconds(finding.start - start));
    json["end"] = number(core::to_seconds(finding.end - start));
    json["evidence"] = std::move(evidence);
    json["shown_in"] = Json::array();
    for (const std::string& name : finding.shown_in) json["shown_in"].push_back(shown_id(name));
    for (const char* left_out : {"evidence_units", "entities"}) json.erase(left_out);
    return json;
}

}  // namespace

Json number(double value) {
    if (!std::isfinite(value)) return nullptr;
    if (value == 0 || (value == std::floor(value) && std::abs(value) < 1e15))
        return static_cast<int64_t>(value);
    double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
    return std::isfinite(scale) ? std::round(value * scale) / scale : value;
}

Json numbers(const std::vector<double>& values) {
    Json list = Json::array();
    for (double value : values) list.push_back(number(value));
    return list;
}

Json grid_json(const NodeGrid& grid) {
    return {{"bins", grid.bins},
            {"bin_seconds", number(grid.bin_seconds)},
            {"start", number(grid.start)},
            {"metrics", list(grid.metrics, metric_json)}};
}

Json gpu_json(const std::optional<GpuReport>& gpu) {
    if (!gpu) return nullptr;
    return {{"score", score_json(gpu->score)},
            {"gpus", list(gpu->gpus, device_json)},
            {"grid", grid_json(gpu->grid)},
            {"histograms", list(gpu->histograms, histogram_json)},
            {"mix",
             {{"seconds", numbers(gpu->mix.seconds)},
              {"compute", numbers(gpu->mix.compute)},
              {"memory", numbers(gpu->mix.memory)},
              {"network", numbers(gpu->mix.network)},
              {"network_note", gpu->mix.network_note}}},
            {"ceilings", list(gpu->ceilings, ceiling_json)},
            {"notes", gpu->score.notes},
            {"interval_seconds", number(gpu->interval_seconds)}};
}

Json findings_json(const std::optional<findings::Report>& found, core::Time start) {
    if (!found) return nullptr;
    Json skipped = Json::array();
    for (const findings::Skipped& rule : found->skipped)
        skipped.push_back({{"id", rule.id}, {"why", rule.why}});
    Json findings = Json::array();
    for (const findings::Finding& finding : found->findings) findings.push_back(finding_json(finding, start));
    return {
        {"evaluated", found->evaluated}, {"skipped", std::move(skipped)}, {"findings", std::move(findings)}};
}

}  // namespace belay::report
