// Causes by which ranks, or all of them, compute more slowly.
#include "faults.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::second_generator {

namespace {

constexpr const char* kOthersWait = "the other ranks wait for it in every step";

int some_rank(const Job& job, Random& random) {
    const int first = job.work.has_coordinator ? 1 : 0;
    return random.whole(std::min(first, job.ranks() - 1), job.ranks() - 1);
}

// The factor by which computing must take longer, so that the whole step costs this share.
double compute_factor(const Job& job, double cost) {
    return 1 + (stretch(cost) - 1) * job.step_seconds() / job.work.compute;
}

Drawn slow_rank(const Job& job, Random& random, Band band, Sign sign, const char* why) {
    const int rank = some_rank(job, random);
    const double from = onset(job, random);
    const double factor = compute_factor(job, std::min(0.5, cost(random, band)));
    const int local = job.local_of(rank);
    const auto& gpus = job.gpus_of[static_cast<size_t>(local)];
    return {.effect =
                [=](Job& changed) {
                    changed.changes.push_back({.first = rank,
                                               .last = rank,
                                               .when = {from, kNever},
                                               .factor = factor,
                                               .ramp = sign == Sign::kHeat ? 40.0 : 0.0,
                                               .sign = sign});
                },
            .onset = from,
            .where = gpus.empty() ? rank_text(job, rank) : gpu_text(job.node_of(rank), gpus[0]),
            .truth = fmt::format("The GPU of rank {} {}.", rank, why),
            .follows = job.ranks() > 1 ? kOthersWait : "steps get longer"};
}

Drawn hot_gpu(const Job& job, Random& random, Band band) {
    return slow_rank(job, random, band, Sign::kHeat, "is too hot and lowers its clock");
}
Drawn capped_gpu(const Job& job, Random& random, Band band) {
    return slow_rank(job, random, band, Sign::kPowerCap, "has a lower power limit than the others");
}
Drawn low_clock(const Job& job, Random& random, Band band) {
    return slow_rank(job, random, band, Sign::kLowClock, "runs at a fixed lower clock");
}
Drawn power_brake(const Job& job, Random& random, Band band) {
    Drawn drawn = slow_rank(job, random, band, Sign::kPowerBrake, "is slowed by the power brake of its node");
    return drawn;
}

Drawn slow_node(const Job& job, Random& random, Band band) {
    const int node = random.whole(0, job.shape.nodes - 1);
    const double from = onset(job, random);
    const double factor = compute_factor(job, std::min(0.5, cost(random, band)));
    return {.effect =
                [=](Job& changed) {
                    const int first = node * changed.shape.tasks;
                    for (Quantity quantity : {Quantity::kCompute, Quantity::kCopy, Quantity::kDecoding,
                                              Quantity::kReading, Quantity::kLocalExchange})
                        changed.changes.push_back({.quantity = quantity,
                                                   .first = first,
                                                   .last = first + changed.shape.tasks - 1,
                                                   .when = {from, kNever},
                                                   .factor = factor});
                },
            .onset = from,
            .where = fmt::format("node {}", node),
            .truth = fmt::format("Node {} is {:.2f} times slower than the others in all that it does.", node,
                                 factor),
            .follows = "the ranks of the other nodes wait for it in every step"};
}

Drawn uneven_work(const Job& job, Random& random, Band band) {
    const double share = std::min(0.5, cost(random, band));
    const double factor = compute_factor(job, share);
    // Some ranks have that much more to do; the others somewhat less, so that the sum stays.
    const int heavy = std::max(1, job.ranks() / random.pick({2, 3, 4, 8}));
    return {.effect =
                [=](Job& changed) {
                    changed.changes.push_back({.first = 0, .last = heavy - 1, .factor = factor});
                    const double light =
                        1 - (factor - 1) * heavy / std::max(1, changed.ranks() - heavy) * 0.5;
                    changed.changes.push_back({.first = heavy, .factor = std::max(0.5, light)});
                },
            .where = heavy == 1 ? "rank 0" : fmt::format("ranks 0 to {}", heavy - 1),
            .truth = fmt::format("{} of {} ranks have {:.2f} times the work of the others.", heavy,
                                 job.ranks(), factor),
            .follows = "the other ranks wait in every step"};
}

Drawn gets_slower(const Job& job, Random& random, Band band) {
    const double factor = 1 + 2 * (compute_factor(job, cost(random, band)) - 1);
    const double from = job.work.start_seconds;
    const double ramp = job.shape.seconds - from;
    return {
        .effect =
            [=](Job& changed) {
                changed.changes.push_back({.when = {from, kNever}, .factor = factor, .ramp = ramp});
            },
        .onset = from,
        .truth = fmt::format("The steps get longer all the time, to {:.2f} times of what they were.", factor),
        .follows = "throughput falls"};
}

Drawn late_start(const Job& job, Random& random, Band band) {
    const double share =
        by_band(band, random.uniform(0.02, 0.05), random.uniform(0.1, 0.18), random.uniform(0.3, 0.7));
    const double seconds = share * job.shape.seconds;
    return {.effect =
                [=](Job& changed) {
                    changed.work.start_seconds = seconds;
                    changed.work.compile_seconds = std::min(changed.work.compile_seconds, seconds * 0.2);
                },
            .where = "all",
            .unit = "% of the run",
            .strength = 100 * share,
            .band = band,
            .truth = fmt::format("The first step begins only after {:.3g} s.", seconds),
            .follows = "GPUs idle at first"};
}

Drawn reclaim(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    const double from = midway(job, random);
    const double factor = compute_factor(job, share);
    const double pressure = std::min(0.9, share * 1.3);
    return {.effect =
                [=](Job& changed) {
                    const int last = changed.shape.tasks - 1;
                    changed.changes.push_back({.last = last,
                                               .when = {from, kNever},
                                               .factor = factor,
                                               .ramp = 20,
                                               .sign = Sign::kReclaim});
                    changed.memory_pressure = pressure;
                    changed.major_faults = 4000 * pressure;
                    changed.compactions = 300 * pressure;
                    changed.pressure_when = {from, kNever};
                },
            .onset = from,
            .where = "node 0",
            .truth = "The memory of node 0 is so full that its programs wait for pages again and again.",
            .follows = "pages are read again from the disk; other nodes wait"};
}

constexpr Cause kCauses[] = {
    {"hot_gpu", "A GPU lowers its clock because it is too hot.", {.gpus = true, .seconds = 180}, hot_gpu},
    {"capped_gpu", "A GPU has a lower power limit than its peers.", {.gpus = true}, capped_gpu},
    {"low_clock_gpu", "A GPU runs at a lower clock that somebody fixed.", {.gpus = true}, low_clock},
    {"power_brake",
     "The hardware slows a GPU because the node's power supply asks for it.",
     {.gpus = true},
     power_brake},
    {"slow_node",
     "All that one node does takes longer, and no counter of its hardware says why.",
     {.nodes = true},
     slow_node},
    {"uneven_work", "Some ranks are given more work than others.", {.ranks = true}, uneven_work},
    {"gets_slower",
     "The program itself takes longer for a step the longer it runs.",
     {.seconds = 240},
     gets_slower},
    {"late_start",
     "Importing, loading and compiling take a large part of the run.",
     {.seconds = 240},
     late_start},
    {"memory_reclaim", "A node's memory is so full that programs wait for pages.", {.seconds = 240}, reclaim},
};

}  // namespace

std::span<const Cause> pace_causes() {
    return kCauses;
}

}  // namespace belay::second_generator
