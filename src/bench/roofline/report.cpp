#include "bench/roofline/report.h"

#include "core/units.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace belay::bench::roofline {

namespace {

using core::Result;
using nlohmann::ordered_json;

constexpr std::string_view kGiven = "given";
// The part of a step above which a wait is worth a word.
constexpr double kNotableWait = 0.05;

void give(Number& number, const std::optional<double>& value) {
    if (value) number = {.value = value, .source = std::string(kGiven)};
}

// Samples of the time that a record saw, by the mean throughput.
std::optional<double> samples_of(const RunFacts& facts, const Moved& moved) {
    if (!facts.samples_per_second || !(moved.seconds > 0)) return std::nullopt;
    return *facts.samples_per_second * moved.seconds;
}

void take_moved(Workload& workload, Machine& machine, const RunFacts& facts, const Moved& moved) {
    const auto samples = samples_of(facts, moved);
    if (samples && moved.storage_bytes && !workload.io_bytes.value)
        workload.io_bytes = {.value = *moved.storage_bytes / *samples,
                             .source = "bytes fetched from storage, by the record"};
    // A GPU's counter says for how much of the time its memory was busy: of its bandwidth, that moved so much.
    const Number& bandwidth = machine.rate(Resource::kMemory);
    const auto rate = facts.samples_per_second_of_rank();
    if (moved.memory_active && bandwidth.value && rate && !workload.memory_bytes.value)
        workload.memory_bytes = {
            .value = *moved.memory_active * *bandwidth.value / *rate,
            .sense = bandwidth.sense,
            .source = fmt::format("memory of the GPUs was active for {:.1f} % of the time, by the record",
                                  100 * *moved.memory_active)};
}

void explain_missing(Workload& workload, Machine& machine) {
    auto explain = [](Number& number, std::string_view how) {
        if (!number.value && number.source.empty()) number.source = how;
    };
    explain(workload.flops, "the log does not count them; give --flops");
    explain(workload.memory_bytes, "the model does not count them; give --memory-bytes");
    explain(workload.io_bytes,
            "give --data, a job record, or --stored-bytes (0 where samples stay in memory)");
    explain(machine.rate(Resource::kCompute), "measure it with --measure, or give --compute");
    explain(machine.rate(Resource::kMemory), "measure it with --measure, or give --memory");
    explain(machine.rate(Resource::kNetwork),
            "measure it with --measure in a step with as many tasks, or give --network");
    explain(machine.rate(Resource::kIo), "measure it with --measure --data DIR, or give --io");
}

void note_what_was_seen(RunReport& report, const std::optional<MeasuredMachine>& measured,
                        const std::optional<Moved>& moved) {
    const RunFacts& facts = report.facts;
    auto note = [&](std::string text) { report.analysis.notes.push_back(std::move(text)); };
    if (const auto share = facts.data_wait_share(); share && *share >= kNotableWait)
        note(fmt::format("the run waited for data for {:.0f} % of each step", 100 * *share));
    if (const auto share = facts.communication_share(); share && *share >= kNotableWait)
        note(fmt::format("the run waited for other ranks for {:.0f} % of each step", 100 * *share));
    if (measured && facts.ranks && measured->ranks != *facts.ranks)
        note(fmt::format("the machine was measured with {} ranks, and the run had {:g}", measured->ranks,
                         *facts.ranks));
    if (!moved || !moved->network_bytes || !facts.ranks) return;
    const auto samples = samples_of(facts, *moved);
    const Number expected = network_bytes(report.analysis.workload);
    if (samples && expected.value && *expected.value > 0)
        note(
            fmt::format("the nodes sent {} per sample of each rank, and the all-reduce needs {} (traffic "
                        "between ranks of "
                        "one node may use no interface)",
                        core::format_decimal({static_cast<uint64_t>(*moved->network_bytes / *samples)}),
                        core::format_decimal({static_cast<uint64_t>(*expected.value)})));
}

ordered_json number_or_null(double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json number_or_null(const std::optional<double>& value) {
    return value ? number_or_null(*value) : ordered_json(nullptr);
}

ordered_json to_json(const Ceiling& ceiling, const std::optional<double>& share) {
    constexpr std::string_view kStates[] = {"known", "none", "unknown"};
    return {{"resource", to_text(ceiling.resource)},
            {"state", kStates[static_cast<size_t>(ceiling.state)]},
            {"rate", to_json(ceiling.rate)},
            {"demand", to_json(ceiling.demand)},
            {"samples_per_second", number_or_null(ceiling.samples_per_second)},
            {"low", number_or_null(ceiling.low)},
            {"high", number_or_null(ceiling.high)},
            {"share", number_or_null(share)},
            {"flop_per_byte", number_or_null(ceiling.intensity)}};
}

}  // namespace

Number stored_bytes_of_sample(double bytes, const RunFacts& facts) {
    const double samples = facts.train_samples.value_or(0) + facts.eval_samples.value_or(0);
    if (!(samples > 0))
        return {.source = "the log does not say how many samples there are; give --stored-bytes"};
    return {.value = bytes / samples,
            .source = fmt::format("the bytes of the data directory over {:.0f} samples", samples)};
}

Result<RunReport> report_on(RunFacts facts, const std::optional<MeasuredMachine>& measured,
                            const Given& given, const std::optional<Moved>& moved) {
    if (given.ranks) facts.ranks = given.ranks;
    if (given.batch) facts.global_batch = given.batch;
    if (given.throughput) facts.samples_per_second = given.throughput;
    Workload workload = facts.workload();
    give(workload.flops, given.flops);
    give(workload.memory_bytes, given.memory_bytes);
    give(workload.parameter_bytes, given.parameter_bytes);
    give(workload.io_bytes, given.io_bytes);
    Machine machine;
    for (const Resource resource : kResources) {
        Number& rate = machine.rate(resource);
        if (moved) rate = moved->vetted.rate(resource);
        if (measured && measured->machine.rate(resource).value) rate = measured->machine.rate(resource);
        if (given.rates.rate(resource).value) rate = given.rates.rate(resource);
    }
    if (moved) take_moved(workload, machine, facts, *moved);
    explain_missing(workload, machine);
    auto analysis = analyze(std::move(workload), std::move(machine), facts.samples_per_second_of_rank());
    if (!analysis) return std::unexpected(std::move(analysis.error()).context(facts.source));
    RunReport report{.facts = std::move(facts), .analysis = std::move(*analysis)};
    note_what_was_seen(report, measured, moved);
    return report;
}

ordered_json to_json(const RunReport& report) {
    const Analysis& analysis = report.analysis;
    ordered_json ceilings = ordered_json::array();
    for (const Ceiling& ceiling : analysis.ceilings)
        ceilings.push_back(to_json(ceiling, analysis.share(ceiling.resource)));
    ordered_json may_bind = ordered_json::array();
    for (const Resource resource : analysis.may_bind) may_bind.push_back(to_text(resource));
    return {{"run", report.facts.source},
            {"benchmark",
             report.facts.benchmark.empty() ? ordered_json(nullptr) : ordered_json(report.facts.benchmark)},
            {"ranks", number_or_null(report.facts.ranks)},
            {"global_batch_size", number_or_null(report.facts.global_batch)},
            {"samples_per_second", number_or_null(report.facts.samples_per_second)},
            {"samples_per_second_of_rank", number_or_null(analysis.attained)},
            {"flops_per_second_of_rank", number_or_null(analysis.attained_flops_per_second())},
            {"binds", analysis.binds ? ordered_json(to_text(*analysis.binds)) : ordered_json(nullptr)},
            {"bound_samples_per_second_of_rank", number_or_null(analysis.bound())},
            {"share", number_or_null(analysis.share())},
            {"certain", analysis.certain},
            {"may_bind", may_bind},
            {"ceilings", ceilings},
            {"data_wait_share", number_or_null(report.facts.data_wait_share())},
            {"communication_share", number_or_null(report.facts.communication_share())},
            {"notes", analysis.notes}};
}

}  // namespace belay::bench::roofline
