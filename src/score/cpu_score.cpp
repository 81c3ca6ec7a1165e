#include "score/cpu_score.h"

#include "record/series/allotment.h"
#include "record/series/read_spans.h"
#include "schema/tables/sampled_series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include <fmt/format.h>

namespace belay::score {

using core::Result;

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

struct Peak {
    double flop = 0;     // that all nodes could have done while they were sampled
    bool known = false;  // on every node
};

Peak peak_of(const CpuUse& use) {
    Peak peak{.known = !use.nodes.empty()};
    for (const NodeCpus& node : use.nodes) {
        peak.flop += kSingleOverDouble * node.peak_flops * node.sampled_seconds;
        peak.known = peak.known && node.peak_flops > 0;
    }
    return peak;
}

// In CPU-seconds. What is busy and did no counted work may have met the limit that nobody counts, memory.
Totals totals_of(const NodeCpus& node, double saturation) {
    Totals totals;
    totals.allocate(node.cpus, node.held_seconds);
    totals.observed = node.cpus * std::min(node.sampled_seconds, node.held_seconds);
    const double busy = std::min(node.busy_seconds, totals.observed);
    const double saturated = std::min(busy, saturation * totals.observed);
    totals.shares = {
        .idle = totals.observed - busy, .gap = 0, .unsaturated = busy - saturated, .saturated = saturated};
    totals.slack = busy - saturated;
    return totals;
}

std::vector<std::string> notes_of(const CpuUse& use, const Peak& peak) {
    std::vector<std::string> notes = {
        "no GPUs: this is about the CPUs that the job may use; memory traffic cannot be counted, so the "
        "score may be as "
        "high as the busy time"};
    if (std::isnan(use.flop))
        notes.emplace_back(
            "the program does not report FLOP/s (MLLOG tracked_stats, flops_per_second): only bounds are "
            "known");
    else if (!peak.known)
        notes.emplace_back("what the CPUs can compute was not measured: vet nodes with the check cpu.gemm");
    else
        notes.emplace_back(
            "ceilings: the check cpu.gemm measured each node before the job; single precision counts twice "
            "that");
    return notes;
}

}  // namespace

JobScore score_cpus(const CpuUse& use) {
    JobScore job;
    const Peak peak = peak_of(use);
    const bool counted = !std::isnan(use.flop) && peak.known && peak.flop > 0;
    const double saturation = counted ? std::min(1.0, use.flop / peak.flop) : 0;
    Totals totals;
    for (const NodeCpus& node : use.nodes) {
        const Totals own = totals_of(node, saturation);
        totals.merge(own);
        job.nodes.push_back(
            {.node = node.node, .device = {}, .name = {}, .index = 0, .score = score_of(own)});
        if (!counted) job.nodes.back().score.point = kMissing;
    }
    job.score = score_of(totals);
    job.allocated_seconds = totals.allocated;
    job.sampled = totals.observed > 0;
    job.busy_engine = totals.observed > 0 ? 1 - totals.shares.idle / totals.observed : kMissing;
    if (!counted) job.score.point = kMissing;
    job.steady_state = kMissing;
    job.busy_sm = kMissing;
    job.link_bound_share = kMissing;
    job.imbalance = kMissing;
    job.burstiness = {kMissing, kMissing};
    job.energy_wh = kMissing;
    job.saturated_hours_per_kwh = kMissing;
    job.flop_use = counted ? saturation : kMissing;
    job.memory_peak_bytes = kMissing;
    job.calibrated = counted;
    job.ceilings_version = counted ? "measured by vetting" : "none";
    job.notes = notes_of(use, peak);
    return job;
}

namespace {

constexpr const char* kNodes = R"(
    WITH held AS (SELECT *, (epoch_us(t1) - epoch_us(t0)) / 1e6 AS seconds FROM ({}) WHERE cpus > 0),
         -- In the mean of the time in which any step ran.
         span AS (
           SELECT node, sum(cpus * seconds) / sum(seconds) AS cpus, min(t0) AS t0, sum(seconds) AS seconds
           FROM held GROUP BY node),
         taken AS (
           SELECT node, sum(received) / nullif(sum(expected), 0) AS share
           FROM coverage WHERE table_name = 'process' GROUP BY node),
         peak AS (
           SELECT node, max(value * CASE unit WHEN 'FLOP/s' THEN 1 WHEN 'MFLOP/s' THEN 1e6 WHEN 'GFLOP/s' THEN 1e9
                                              WHEN 'TFLOP/s' THEN 1e12 END) AS flops
           FROM vetting WHERE type = 'cpu.gemm' AND value > 0 GROUP BY node)
    SELECT span.node, span.cpus, span.seconds, span.seconds * coalesce(taken.share, 1), peak.flops, epoch_us(span.t0)
    FROM span LEFT JOIN taken ON taken.node = span.node
         LEFT JOIN peak ON peak.node = span.node
    WHERE span.seconds > 0 ORDER BY span.node)";

// Each figure is a mean over the time since the same task's last line of any kind. Of ranks that all print
// the job's figure one counts.
constexpr const char* kFlop = R"(
    WITH steps AS (
           SELECT task, flops_per_second,
                  (epoch_us(time) - lag(epoch_us(time)) OVER (PARTITION BY node, task ORDER BY time)) / 1e6 AS seconds
           FROM progress)
    SELECT sum(flops_per_second * seconds) AS flop FROM steps
    WHERE flops_per_second > 0 AND seconds > 0 GROUP BY task ORDER BY flop DESC LIMIT 1)";

double or_zero(double value) {
    return std::isnan(value) ? 0 : value;
}

constexpr schema::SampledSeries kCpusUsed = schema::series_named(schema::kProcessSeriesColumns, "cpus_used");
constexpr record::SpanInput kCpuSeconds[] = {{kCpusUsed.sampled, kCpusUsed.sql}};
constexpr record::SpanOutput kBusy[] = {
    {[](std::span<const double> sums) { return sums[0]; }, schema::Fold::kIncrease}};

// CPU time of the processes of each node. One that started with the job, to a second, has spent all its time
// in it, another what it spent since it was first seen.
Result<std::map<std::string, double>> read_busy_seconds(record::Archive& archive,
                                                        const std::vector<NodeCpus>& of, double held_from) {
    if (of.empty()) return {};
    std::vector<std::string> nodes;
    for (const NodeCpus& node : of) nodes.push_back(node.node);
    std::map<std::string, double> busy;  // nodes are told of at the same time
    std::mutex mutex;
    BELAY_CHECK(record::read_spans(archive,
                                   {.table = &schema::kProcess,
                                    .filter = {},
                                    .keys = schema::kProcessIdentity,
                                    .born = schema::kProcessBorn,
                                    .inputs = kCpuSeconds,
                                    .outputs = kBusy},
                                   record::one_span(static_cast<int64_t>(held_from - 1e6)), std::move(nodes),
                                   [&](std::string_view node, std::span<const record::Spans> outputs) {
                                       const std::scoped_lock lock(mutex);
                                       busy[std::string(node)] = outputs[0][0].increase;
                                   }));
    return busy;
}

}  // namespace

Result<CpuUse> read_cpu_use(record::Archive& archive) {
    CpuUse use{.nodes = {}, .flop = kMissing};
    BELAY_TRY(rows, archive.query(fmt::format(kNodes, record::kAllotmentSql)));
    double held_from = std::numeric_limits<double>::infinity();
    for (const auto& row : rows.rows) {
        use.nodes.push_back({.node = record::as_text(row[0]),
                             .cpus = record::as_double(row[1]),
                             .held_seconds = record::as_double(row[2]),
                             .sampled_seconds = or_zero(record::as_double(row[3])),
                             .busy_seconds = 0,
                             .peak_flops = or_zero(record::as_double(row[4]))});
        held_from = std::fmin(held_from, record::as_double(row[5]));
    }
    BELAY_TRY(busy, read_busy_seconds(archive, use.nodes, held_from));
    for (NodeCpus& node : use.nodes)
        if (auto found = busy.find(node.node); found != busy.end())
            node.busy_seconds = or_zero(found->second);
    BELAY_TRY(flop, archive.query(kFlop));
    if (!flop.rows.empty()) use.flop = record::as_double(flop.rows[0][0]);
    return use;
}

}  // namespace belay::score
