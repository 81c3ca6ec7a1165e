#include "score/cpu_score.h"

#include "score/cpu_meaning.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace belay::score {

namespace {

// Vector units hold twice as many single as double precision values: what single precision can reach at most.
constexpr double kSingleOverDouble = 2;
// By how much a program may exceed a ceiling that was measured for some seconds before it (Belay's choice:
// clocks and neighbours of a shared machine vary by as much).
constexpr double kCeilingError = 1.1;

double or_zero(double value) {
    return std::isnan(value) ? 0 : value;
}

// What all nodes could have done of one kind of work while they were sampled.
struct Capacity {
    double most = 0;
    bool is_exact = true;   // each node's ceiling was measured as it is needed
    bool is_enough = true;  // each node has a ceiling that is not too low
    void add(const CpuCeiling& ceiling, bool is_trusted, bool is_needed_kind, const NodeCpus& node) {
        const bool all_cpus = ceiling.cpus <= 0 || std::abs(ceiling.cpus - node.cpus) < 0.5;
        // More CPUs never reach more than in proportion.
        const double scale = ceiling.cpus > 0 && ceiling.cpus < node.cpus ? node.cpus / ceiling.cpus : 1;
        most += ceiling.rate * scale * node.sampled_seconds;
        is_enough = is_enough && ceiling.rate > 0 && is_trusted;
        is_exact = is_exact && is_enough && is_needed_kind && all_cpus;
    }
    double share_of(double work) const { return most > 0 ? or_zero(work) / most : 0; }
};

struct Capacities {
    Capacity doubles, singles, bytes;
    explicit Capacities(const CpuUse& use) {
        for (const NodeCpus& node : use.nodes) {
            const CpuCeilings& top = node.ceilings;
            const bool has_single = top.single_flops.rate > 0;
            const CpuCeiling twice{kSingleOverDouble * top.double_flops.rate, top.double_flops.cpus};
            doubles.add(top.double_flops, top.is_blas, true, node);
            singles.add(has_single ? top.single_flops : twice, top.is_blas, has_single, node);
            bytes.add(top.bytes, true, true, node);
        }
    }
};

double busy_of(const CpuUse& use) {
    double busy = 0, observed = 0;
    for (const NodeCpus& node : use.nodes) {
        const double own = node.cpus * std::min(node.sampled_seconds, node.held_seconds);
        observed += own;
        busy += std::min(node.busy_seconds, own);
    }
    return observed > 0 ? busy / observed : 0;
}

// Of the observed time, that in which any CPU can have run: a few of them can use all of the memory's
// bandwidth.
double ran_of(const CpuUse& use) {
    double ran = 0, observed = 0;
    for (const NodeCpus& node : use.nodes) {
        const double seconds = std::min(node.sampled_seconds, node.held_seconds);
        observed += node.cpus * seconds;
        ran += node.cpus * std::min(node.busy_seconds, seconds);
    }
    return observed > 0 ? ran / observed : 0;
}

// Of the nodes' CPU time, what others used, with or without what the job did.
double node_use_of(const CpuUse& use, bool with_job) {
    double used = 0, all = 0;
    for (const NodeCpus& node : use.nodes) {
        used += node.others_seconds + (with_job ? node.busy_seconds : 0);
        all += node.node_cpus * node.held_seconds;
    }
    return all > 0 ? used / all : kMissing;
}

// Of the nodes' CPU time, what the job was given; 1 where that is not known.
double given_of(const CpuUse& use) {
    double given = 0, all = 0;
    for (const NodeCpus& node : use.nodes) {
        given += node.cpus * node.held_seconds;
        all += node.node_cpus * node.held_seconds;
    }
    return all > 0 ? std::min(given / all, 1.0) : 1;
}

double longest_held(const CpuUse& use) {
    double longest = 0;
    for (const NodeCpus& node : use.nodes) longest = std::max(longest, node.held_seconds);
    return longest;
}

// By how much work exceeds what fits into the time in which it can have been done.
double excess_of(double share, double time) {
    if (share <= 0) return 0;
    return time > 0 ? share / time : std::numeric_limits<double>::infinity();
}

CpuVerdict judge(const CpuUse& use) {
    const CpuWork& work = use.work;
    const Capacities can(use);
    CpuVerdict verdict{.busy = busy_of(use),
                       .ran = ran_of(use),
                       .others = node_use_of(use, false),
                       .node_use = node_use_of(use, true),
                       .given = given_of(use)};
    const bool doubles = !std::isnan(work.double_flop), singles = !std::isnan(work.single_flop);
    verdict.reports_flop = doubles || singles;
    verdict.reports_bytes = !std::isnan(work.bytes);
    verdict.flop = can.doubles.share_of(work.double_flop) + can.singles.share_of(work.single_flop);
    verdict.bytes = can.bytes.share_of(work.bytes);
    verdict.ceilings_known = !use.nodes.empty() && (!doubles || can.doubles.is_exact) &&
                             (!singles || can.singles.is_exact) &&
                             (!verdict.reports_bytes || can.bytes.is_exact);
    verdict.excess = std::max(excess_of(verdict.flop, verdict.busy), excess_of(verdict.bytes, verdict.ran));
    verdict.counts = (verdict.reports_flop || verdict.reports_bytes) && verdict.ceilings_known &&
                     verdict.excess <= kCeilingError;
    verdict.high = verdict.ran;
    if (verdict.counts) {
        verdict.point = std::max(std::min(verdict.flop, verdict.busy), std::min(verdict.bytes, verdict.ran));
        verdict.low = verdict.excess > 1 ? verdict.point / kCeilingError : verdict.point;
        // Both limits may have been met one after the other, and either while nothing was reported.
        const double unreported = std::max(0.0, 1 - use.reported_seconds / longest_held(use));
        if (verdict.reports_bytes)
            verdict.high = std::clamp((verdict.reports_flop ? verdict.flop : verdict.busy) + verdict.bytes +
                                          unreported * verdict.ran,
                                      verdict.point, verdict.ran);
    } else {
        // Ceilings that are too high if anything.
        const double flop = (can.doubles.is_enough ? can.doubles.share_of(work.double_flop) : 0) +
                            (can.singles.is_enough ? can.singles.share_of(work.single_flop) : 0);
        const double bytes = can.bytes.is_enough ? verdict.bytes : 0;
        verdict.low = std::max(flop <= verdict.busy ? flop : 0, bytes <= verdict.ran ? bytes : 0);
    }
    return verdict;
}

// In CPU-seconds. What the job did is shared out by how long each node was busy; what takes more than the
// busy CPUs, by how long any of a node's ran. Where a few CPUs use all of the memory's bandwidth, the others
// are not idle: there is nothing left for them.
Totals totals_of(const NodeCpus& node, const CpuVerdict& verdict) {
    Totals totals;
    totals.allocate(node.cpus, node.held_seconds);
    const double seconds = std::min(node.sampled_seconds, node.held_seconds);
    totals.observed = node.cpus * seconds;
    const double busy = std::min(node.busy_seconds, totals.observed);
    const auto by_running = [&](double share) {
        return verdict.ran > 0 ? node.cpus * std::min(node.busy_seconds, seconds) * share / verdict.ran : 0;
    };
    const double share = verdict.counts ? verdict.point : verdict.low;
    const double saturated = share > verdict.busy ? by_running(share)
                             : share > 0          ? busy * share / verdict.busy
                                                  : 0;
    const double active = std::max(busy, saturated);
    totals.shares = {.idle = totals.observed - active,
                     .gap = 0,
                     .unsaturated = active - saturated,
                     .saturated = saturated};
    totals.slack = std::max(0.0, by_running(verdict.high) - saturated);
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
    job.busy_engine = totals.observed > 0 ? verdict.busy : kMissing;
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
        job.bound = std::max(verdict.flop, verdict.bytes) < kNearNothing ? Bound::kNone
                    : verdict.flop >= verdict.bytes                      ? Bound::kCompute
                                                                         : Bound::kMemory;
    job.memory_peak_bytes = kMissing;
    job.calibrated = verdict.counts;
    job.ceilings_version = verdict.counts ? "measured by vetting" : "none";
    if (job.sampled) job.meaning = meaning_of(job.score, verdict);
    job.notes = notes_of(use, verdict);
    return job;
}

}  // namespace belay::score
