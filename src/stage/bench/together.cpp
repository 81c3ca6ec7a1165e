#include "stage/bench/together.h"

#include "core/json.h"
#include "stage/bench/workload.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace belay::stage {

namespace {

using core::Result;
using nlohmann::ordered_json;

double number_from(const ordered_json& json, const char* name) {
    const ordered_json& value = json.at(name);
    return value.is_null() ? NAN : value.get<double>();
}

// These throw where something is missing or has another type.
BenchResult result_from(const ordered_json& json) {
    const ordered_json& latency = json.at("latency_seconds");
    return {.name = json.at("name"),
            .unit = json.at("unit"),
            .value = number_from(json, "value"),
            .operations = core::integer_from<uint64_t>(json.at("operations")),
            .bytes = core::integer_from<uint64_t>(json.at("bytes")),
            .seconds = json.at("seconds"),
            .first_done_seconds = json.at("first_done_seconds"),
            .latency = {.count = core::integer_from<uint64_t>(json.at("operations")),
                        .mean = number_from(latency, "mean"),
                        .p50 = number_from(latency, "p50"),
                        .p90 = number_from(latency, "p90"),
                        .p99 = number_from(latency, "p99"),
                        .p999 = number_from(latency, "p999"),
                        .longest = number_from(latency, "longest")},
            .cache = json.at("cache")};
}

EmulationResult emulation_from(const ordered_json& json) {
    EmulationResult result{.model = json.at("model"),
                           .accelerators = core::integer_from<uint64_t>(json.at("accelerators")),
                           .samples = core::integer_from<uint64_t>(json.at("samples")),
                           .distinct_samples = core::integer_from<uint64_t>(json.at("distinct_samples")),
                           .seconds = json.at("seconds"),
                           .samples_per_second = json.at("samples_per_second"),
                           .bytes_per_second = json.at("bytes_per_second"),
                           .cache = json.at("cache")};
    if (!json.at("accelerator").is_null()) result.accelerator = json.at("accelerator");
    if (!json.at("pass_utilisation").is_null()) result.pass_share = json.at("pass_utilisation").get<double>();
    if (!json.at("utilisation").is_null())
        result.utilisation =
            Utilisation{json.at("utilisation"), core::integer_from<uint64_t>(json.at("steps_counted"))};
    return result;
}

void add_cache(std::string& sum, const std::string& other) {
    if (!sum.contains(other)) sum += "; elsewhere " + other;
}

void add(BenchResult& sum, const BenchResult& other) {
    const auto operations = static_cast<double>(sum.operations + other.operations);
    if (operations > 0)
        sum.latency.mean = (sum.latency.mean * static_cast<double>(sum.operations) +
                            other.latency.mean * static_cast<double>(other.operations)) /
                           operations;
    for (double LatencySummary::* percentile :
         {&LatencySummary::p50, &LatencySummary::p90, &LatencySummary::p99, &LatencySummary::p999,
          &LatencySummary::longest})
        sum.latency.*percentile = std::fmax(sum.latency.*percentile, other.latency.*percentile);
    sum.operations += other.operations;
    sum.latency.count = sum.operations;
    sum.bytes += other.bytes;
    sum.seconds = std::max(sum.seconds, other.seconds);
    sum.first_done_seconds = std::min(sum.first_done_seconds, other.first_done_seconds);
    const auto amount = static_cast<double>(sum.unit == kBytesUnit ? sum.bytes : sum.operations);
    sum.value = sum.seconds > 0 ? amount / sum.seconds : NAN;
    add_cache(sum.cache, other.cache);
}

void add(EmulationResult& sum, const EmulationResult& other) {
    if (sum.utilisation && other.utilisation) {
        const Utilisation both[] = {*sum.utilisation, *other.utilisation};
        sum.utilisation = mean_utilisation(both);
    } else {
        sum.utilisation.reset();
    }
    sum.accelerators += other.accelerators;
    sum.samples += other.samples;
    sum.distinct_samples += other.distinct_samples;
    const double bytes = sum.bytes_per_second * sum.seconds + other.bytes_per_second * other.seconds;
    sum.seconds = std::max(sum.seconds, other.seconds);
    sum.samples_per_second = sum.seconds > 0 ? static_cast<double>(sum.samples) / sum.seconds : 0;
    sum.bytes_per_second = sum.seconds > 0 ? bytes / sum.seconds : 0;
    add_cache(sum.cache, other.cache);
}

template <typename Result_, typename Name>
bool have_equal_names(const std::vector<Result_>& a, const std::vector<Result_>& b, Name name) {
    return std::ranges::equal(a, b, {}, name, name);
}

}  // namespace

Result<BenchReport> results_from_json(std::string_view text) {
    try {
        const ordered_json json = core::parse_ordered_json(text);
        BenchReport report{.directory = json.at("directory"), .file_system = json.at("file_system")};
        for (const ordered_json& one : json.at("results")) report.results.push_back(result_from(one));
        for (const ordered_json& one : json.at("training")) report.emulations.push_back(emulation_from(one));
        for (const ordered_json& one : json.at("notes")) report.notes.push_back(one);
        return report;
    } catch (const ordered_json::exception& exception) {
        return core::bad_input("the results cannot be read: {}", exception.what())
            .hint("are all parts of Belay on all nodes of the same version?");
    }
}

Result<BenchReport> together(std::span<const BenchReport> reports, std::span<const std::string> nodes) {
    BenchReport sum = reports.front();
    sum.options.nodes = reports.size();
    for (size_t rank = 1; rank < reports.size(); ++rank) {
        const BenchReport& other = reports[rank];
        if (!have_equal_names(sum.results, other.results, &BenchResult::name) ||
            !have_equal_names(sum.emulations, other.emulations, &EmulationResult::model))
            return core::bad_input("{} did not measure the same as {}", nodes[rank], nodes[0])
                .hint("give all nodes the same options");
        for (size_t i = 0; i < sum.results.size(); ++i) add(sum.results[i], other.results[i]);
        for (size_t i = 0; i < sum.emulations.size(); ++i) add(sum.emulations[i], other.emulations[i]);
        for (const std::string& note : other.notes)
            if (std::ranges::find(sum.notes, note) == sum.notes.end())
                sum.notes.push_back(fmt::format("{}: {}", nodes[rank], note));
    }
    // Where one node's accelerators wait too long, all do at the next exchange.
    for (size_t i = 0; i < sum.emulations.size(); ++i)
        sum.emulations[i].all_pass = std::ranges::all_of(
            reports, [i](const BenchReport& report) { return report.emulations[i].passes(); });
    if (reports.size() > 1) sum.notes.emplace_back("percentiles of times are the highest of any node");
    return sum;
}

}  // namespace belay::stage
