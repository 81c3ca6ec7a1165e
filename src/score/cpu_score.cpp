#include "score/cpu_score.h"

#include "score/cpu_meaning.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace belay::score {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
// Vector units hold twice as many single as double precision values: what single precision can reach at most.
constexpr double kSingleOverDouble = 2;
// By how much a program may exceed a ceiling that was measured for some seconds before it (Belay's choice:
// clocks and neighbours of a shared machine vary by as much).
constexpr double kCeilingError = 1.1;

double or_zero(double value) {
    return std::isnan(value) ? 0 : value;
}

// What all nodes could have done while they were sampled.
struct Capacity {
    double double_flop = 0, single_flop = 0, bytes = 0;
    bool flop_known = true, bytes_known = true;  // measured on all nodes, by a BLAS, on the CPUs of the job

    explicit Capacity(const CpuUse& use) {
        const bool doubles = !std::isnan(use.work.double_flop), singles = !std::isnan(use.work.single_flop);
        for (const NodeCpus& node : use.nodes) {
            const CpuCeilings& top = node.ceilings;
            // More CPUs never reach more than in proportion.
            const double scale = top.cpus > 0 && top.cpus < node.cpus ? node.cpus / top.cpus : 1;
            const bool as_allotted = top.cpus <= 0 || std::abs(top.cpus - node.cpus) < 0.5;
            const double single =
                top.single_flops > 0 ? top.single_flops : kSingleOverDouble * top.double_flops;
            double_flop += top.double_flops * scale * node.sampled_seconds;
            single_flop += single * scale * node.sampled_seconds;
            bytes += top.bytes * scale * node.sampled_seconds;
            flop_known = flop_known && as_allotted && top.is_blas && (!doubles || top.double_flops > 0) &&
                         (!singles || top.single_flops > 0);
            bytes_known = bytes_known && as_allotted && top.bytes > 0;
        }
    }
};

double share(double work, double capacity) {
    return capacity > 0 ? or_zero(work) / capacity : 0;
}

double busy_of(const CpuUse& use) {
    double busy = 0, observed = 0;
    for (const NodeCpus& node : use.nodes) {
        const double own = node.cpus * std::min(node.sampled_seconds, node.held_seconds);
        observed += own;
        busy += std::min(node.busy_seconds, own);
    }
    return observed > 0 ? busy / observed : 0;
}

double others_of(const CpuUse& use) {
    double used = 0, all = 0;
    for (const NodeCpus& node : use.nodes) {
        used += node.others_seconds;
        all += node.node_cpus * node.held_seconds;
    }
    return all > 0 ? used / all : kMissing;
}

CpuVerdict judge(const CpuUse& use) {
    const CpuWork& work = use.work;
    const Capacity capacity(use);
    CpuVerdict verdict{.busy = busy_of(use), .others = others_of(use)};
    verdict.reports_flop = !std::isnan(work.double_flop) || !std::isnan(work.single_flop);
    verdict.reports_bytes = !std::isnan(work.bytes);
    verdict.flop =
        share(work.double_flop, capacity.double_flop) + share(work.single_flop, capacity.single_flop);
    verdict.bytes = share(work.bytes, capacity.bytes);
    verdict.ceilings_known = !use.nodes.empty() && (!verdict.reports_flop || capacity.flop_known) &&
                             (!verdict.reports_bytes || capacity.bytes_known);
    const double used = std::max(verdict.flop, verdict.bytes);
    verdict.excess = verdict.busy > 0 ? used / verdict.busy
                     : used > 0       ? std::numeric_limits<double>::infinity()
                                      : 0;
    verdict.counts = (verdict.reports_flop || verdict.reports_bytes) && verdict.ceilings_known &&
                     verdict.excess <= kCeilingError;
    // Both at once: their units overlap, so that their sum is the most that it can have been.
    verdict.all_counted = verdict.counts && verdict.reports_flop && verdict.reports_bytes;
    verdict.high = verdict.all_counted ? std::min(verdict.busy, verdict.flop + verdict.bytes) : verdict.busy;
    if (verdict.counts) {
        verdict.point = std::min(used, verdict.busy);
        verdict.low = verdict.excess > 1 ? verdict.busy / kCeilingError : used;
        verdict.high = std::max(verdict.high, verdict.point);
    } else if (verdict.excess <= 1 && !use.nodes.empty() &&
               std::ranges::all_of(use.nodes, [](const NodeCpus& node) { return node.ceilings.is_blas; })) {
        verdict.low = used;  // ceilings that are too high if anything
    }
    return verdict;
}

// In CPU-seconds: the job's shares, in proportion to what the node was observed.
Totals totals_of(const NodeCpus& node, const CpuVerdict& verdict) {
    Totals totals;
    totals.allocate(node.cpus, node.held_seconds);
    totals.observed = node.cpus * std::min(node.sampled_seconds, node.held_seconds);
    const double busy = std::min(node.busy_seconds, totals.observed);
    const double used = verdict.counts ? verdict.point : verdict.low;
    const double saturated = std::min(busy, used * totals.observed);
    totals.shares = {
        .idle = totals.observed - busy, .gap = 0, .unsaturated = busy - saturated, .saturated = saturated};
    totals.slack = std::max(
        0.0, (verdict.all_counted ? std::min(busy, verdict.high * totals.observed) : busy) - saturated);
    return totals;
}

Score score_with(const Totals& totals, const CpuVerdict& verdict) {
    Score score = score_of(totals);
    if (!verdict.counts) score.point = kMissing;
    // A ceiling that was exceeded a little may be a little higher.
    else if (verdict.low < verdict.point)
        score.low *= verdict.low / verdict.point;
    return score;
}

}  // namespace

JobScore score_cpus(const CpuUse& use) {
    JobScore job;
    const CpuVerdict verdict = judge(use);
    Totals totals;
    for (const NodeCpus& node : use.nodes) {
        const Totals own = totals_of(node, verdict);
        totals.merge(own);
        job.nodes.push_back(
            {.node = node.node, .device = {}, .name = {}, .index = 0, .score = score_with(own, verdict)});
    }
    job.score = score_with(totals, verdict);
    job.allocated_seconds = totals.allocated;
    job.sampled = totals.observed > 0;
    job.busy_engine = totals.observed > 0 ? 1 - totals.shares.idle / totals.observed : kMissing;
    job.others_busy = verdict.others;
    job.steady_state = kMissing;
    job.busy_sm = kMissing;
    job.link_bound_share = kMissing;
    job.imbalance = kMissing;
    job.burstiness = {kMissing, kMissing};
    job.energy_wh = kMissing;
    job.saturated_hours_per_kwh = kMissing;
    job.flop_use = verdict.counts && verdict.reports_flop ? verdict.flop : kMissing;
    job.memory_use = verdict.counts && verdict.reports_bytes ? verdict.bytes : kMissing;
    if (verdict.counts && verdict.reports_flop && verdict.reports_bytes)
        job.bound = verdict.flop >= verdict.bytes ? Bound::kCompute : Bound::kMemory;
    job.memory_peak_bytes = kMissing;
    job.calibrated = verdict.counts;
    job.ceilings_version = verdict.counts ? "measured by vetting" : "none";
    job.meaning = meaning_of(job.score, verdict);
    job.notes = notes_of(use, verdict);
    return job;
}

}  // namespace belay::score
