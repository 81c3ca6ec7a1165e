#include "cli/bench_roofline_record.h"

#include "bench/compliance/facts.h"
#include "bench/compliance/tracked_stats.h"
#include "core/json.h"
#include "core/utf8.h"
#include "record/series/counter.h"

#include <algorithm>
#include <cmath>

namespace belay::cli {

namespace {

using bench::roofline::Moved;
using bench::roofline::Resource;
using core::Result;

// Of a log that a record holds, the times between which the run trained.
constexpr std::string_view kSpan =
    "WITH span AS (SELECT min(time) AS t0, max(time) AS t1 FROM progress WHERE kind = 'train')";

std::optional<double> value_of(const record::Value& value) {
    const double number = record::as_double(value);
    return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// How far the counters of each process and interface went in the span.
constexpr std::string_view kReadBytes = R"(
    SELECT sum(moved) FROM (SELECT increase(read_bytes_total, (node, pid, start_time), time) AS moved
                            FROM process, span WHERE time BETWEEN t0 AND t1))";
constexpr std::string_view kSentBytes = R"(
    SELECT sum(moved) FROM (SELECT increase(transmit_bytes_total, (node, device), time) AS moved
                            FROM network, span
                            WHERE time BETWEEN t0 AND t1 AND NOT coalesce(counted_elsewhere, false)))";
constexpr std::string_view kMemoryActive =
    "SELECT avg(dram_active_ratio) FROM gpu, span WHERE time BETWEEN t0 AND t1";

Result<std::optional<double>> one_number(record::Archive& archive, std::string_view sql) {
    BELAY_TRY(result, archive.query(fmt::format("{} {}", kSpan, sql)));
    if (result.rows.empty() || result.rows[0].empty()) return std::optional<double>();
    return value_of(result.rows[0][0]);
}

struct VettedRow {
    std::string_view type;
    Resource resource;
    bool of_gpu;  // of each, which one rank has; else of a node, which its ranks share
};
// The first of a resource that was measured counts.
constexpr VettedRow kVetted[] = {
    {"burn.gemm", Resource::kCompute, true},  {"cpu.sgemm", Resource::kCompute, false},
    {"burn.stream", Resource::kMemory, true}, {"cpu.stream", Resource::kMemory, false},
    {"nccl.pair", Resource::kNetwork, true},  {"nccl.intra", Resource::kNetwork, true},
};

Result<> take_vetting(record::Archive& archive, double ranks_per_node, Moved& moved) {
    // What did not pass was measured all the same; of several nodes and devices the slowest holds up the others.
    BELAY_TRY(result, archive.query(
                          "SELECT type, unit, min(value), count(*) FROM vetting WHERE value IS NOT NULL AND "
                          "status IN ('pass', 'fail') GROUP BY type, unit ORDER BY type, unit"));
    for (const VettedRow& known : kVetted) {
        bench::roofline::Number& rate = moved.vetted.rate(known.resource);
        for (const auto& row : result.rows) {
            if (rate.value || row.size() < 4 || record::as_text(row[0]) != known.type) continue;
            const auto value = value_of(row[2]);
            const auto measured = value ? rate_in_unit(*value, record::as_text(row[1])) : std::nullopt;
            if (!measured || !(*measured > 0)) continue;
            const double sharing = known.of_gpu ? 1 : std::max(ranks_per_node, 1.0);
            rate = {.value = *measured / sharing,
                    .source = fmt::format("vetting's {}, the slowest of {:.0f}{}", known.type,
                                          record::as_double(row[3]),
                                          sharing > 1 ? fmt::format(", shared by {:g} ranks", sharing) : "")};
        }
    }
    return {};
}

void take_row(const std::vector<record::Value>& row, bench::LogFacts& facts, bench::MeansOverSteps& means) {
    enum Column {
        kKind,
        kKey,
        kValue,
        kText,
        kStep,
        kSamples,
        kStepSeconds,
        kFlops,
        kMemory,
        kWait,
        kExposed
    };
    if (row.size() <= kExposed) return;
    const std::string key = record::as_text(row[kKey]);
    if (record::as_text(row[kKind]) == "train") {
        means.add({.step = value_of(row[kStep]),
                   .samples_per_second = value_of(row[kSamples]),
                   .step_seconds = value_of(row[kStepSeconds]),
                   .flops_per_second = value_of(row[kFlops]),
                   .memory_bytes_per_second = value_of(row[kMemory]),
                   .data_wait_seconds = value_of(row[kWait]),
                   .exposed_communication_seconds = value_of(row[kExposed])});
        return;
    }
    if (const auto value = value_of(row[kValue])) {
        if (key == "resumed_from_step") means.begin_at(*value);
        if (const auto fact = bench::number_fact(key)) facts.*fact = value;
    }
    if (key != "submission_benchmark") return;
    const auto text = core::parse_json(record::as_text(row[kText]));
    if (text.is_string()) facts.benchmark = text.get<std::string>();
}

}  // namespace

std::optional<double> rate_in_unit(double value, std::string_view unit) {
    struct Unit {
        std::string_view name;
        double factor;
    };
    constexpr Unit kUnits[] = {{"FLOP/s", 1},        {"GFLOP/s", 1e9},        {"TFLOP/s", 1e12},
                               {"PFLOP/s", 1e15},    {"bytes/s", 1},          {"B/s", 1},
                               {"MB/s", 1e6},        {"GB/s", 1e9},           {"TB/s", 1e12},
                               {"MiB/s", 1048576.0}, {"GiB/s", 1073741824.0}, {"Mbit/s", 1e6 / 8},
                               {"Gbit/s", 1e9 / 8}};
    for (const Unit& known : kUnits)
        if (known.name == unit) return value * known.factor;
    return std::nullopt;
}

Result<bench::roofline::RunFacts> facts_of_record(record::Archive& archive, const std::string& name) {
    BELAY_TRY(result,
              archive.query("SELECT kind, key, value, text, step, samples_per_second, step_seconds, "
                            "coalesce(fp32_flops_per_second, flops_per_second), memory_bytes_per_second, "
                            "data_wait_seconds, exposed_communication_seconds FROM progress "
                            "WHERE kind <> 'evaluation' ORDER BY time"));
    bench::LogFacts said;
    bench::MeansOverSteps means;
    bool any = false;
    for (const auto& row : result.rows) {
        take_row(row, said, means);
        any = any || (!row.empty() && record::as_text(row[0]) == "train");
    }
    if (!any)
        return core::bad_input("{}: no program in this record logged how fast it trained",
                               core::printable(name))
            .hint(
                "belay bench run does; of other programs, tracked_stats in MLLOG is read, or what the "
                "setting "
                "record.progress_pattern names");
    means.put_into(said);
    auto facts = bench::roofline::run_facts_of(said, name);
    if (facts.ranks) return facts;
    // What the log does not say: the tasks of the step.
    BELAY_TRY(tasks, one_number(archive,
                                "SELECT sum(tasks) FROM (SELECT DISTINCT node, tasks FROM allocation WHERE "
                                "device IS NULL AND tasks > 0)"));
    if (tasks && *tasks > 0) facts.ranks = tasks;
    return facts;
}

Result<Moved> moved_in_record(record::Archive& archive, double ranks_per_node) {
    Moved moved;
    BELAY_TRY(seconds, one_number(archive, "SELECT epoch(t1) - epoch(t0) FROM span"));
    moved.seconds = seconds.value_or(0);
    BELAY_CHECK(archive.define(std::string(record::kIncreaseMacro)));
    BELAY_TRY(read, one_number(archive, kReadBytes));
    BELAY_TRY(sent, one_number(archive, kSentBytes));
    BELAY_TRY(active, one_number(archive, kMemoryActive));
    moved.storage_bytes = read;
    moved.network_bytes = sent;
    moved.memory_active = active;
    BELAY_CHECK(take_vetting(archive, ranks_per_node, moved));
    return moved;
}

}  // namespace belay::cli
