// Causes in how ranks talk to each other.
#include "faults.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::second_generator {

namespace {

Drawn congestion(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    const double from = midway(job, random);
    const double to =
        random.chance(0.5) ? kNever : from + random.uniform(0.3, 0.9) * (job.shape.seconds - from);
    const double factor = 1 + (stretch(share) - 1) * job.step_seconds() / job.work.exchange;
    return {.effect =
                [=](Job& changed) {
                    changed.changes.push_back(
                        {.quantity = Quantity::kExchange, .when = {from, to}, .factor = factor});
                },
            .onset = from,
            .truth = fmt::format("The network is congested: an exchange takes {:.2g} times as long.", factor),
            .follows = "all ranks spend more of each step in communication"};
}

Drawn exposed(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    const double seconds = job.work.exchange + (stretch(share) - 1) * job.step_seconds();
    const double bytes =
        job.work.over_sockets ? seconds * random.uniform(1e9, 2.4e9) : seconds * random.uniform(5e9, 4e10);
    return {
        .effect =
            [=](Job& changed) {
                changed.work.exchange = seconds;
                changed.work.exchanged_bytes = std::max(changed.work.exchanged_bytes, bytes);
            },
        .truth = fmt::format("{:.2g} s of each step exchange gradients while nothing is computed.", seconds),
        .follows = "low use of GPUs or CPUs; links busy for much of the time"};
}

Drawn link_flaps(const Job& job, Random& random, Band band) {
    const int times = static_cast<int>(by_band(band, 1, random.whole(2, 3), random.whole(6, 12)));
    const double from = midway(job, random);
    const double gap = (job.shape.seconds - from) / (times + 1);
    return {.effect =
                [=](Job& changed) {
                    for (int i = 0; i < times; ++i) {
                        const double at = from + i * gap;
                        changed.link_drops.push_back(at);
                        changed.changes.push_back({.quantity = Quantity::kExchange,
                                                   .when = {at, at + 4},
                                                   .factor = 1 + 4 / changed.work.exchange,
                                                   .sign = Sign::kBadLink});
                    }
                },
            .onset = from,
            .where = "node 0",
            .unit = "times down",
            .strength = static_cast<double>(times),
            .band = band,
            .truth = fmt::format("The network link of node 0 goes down {} times and comes up again.", times),
            .follows = "pauses in which all ranks wait"};
}

Drawn damaged_packets(const Job& job, Random& random, Band band) {
    const double share = cost(random, band);
    const double factor = 1 + (stretch(share) - 1) * job.step_seconds() / job.work.exchange;
    const double errors =
        by_band(band, random.uniform(0.01, 0.05), random.uniform(0.5, 5), random.by_decade(30, 3000));
    const double from = onset(job, random);
    return {.effect =
                [=](Job& changed) {
                    changed.work.over_sockets = true;
                    changed.work.exchanged_bytes =
                        std::min(changed.work.exchanged_bytes, changed.work.exchange * 6e9);
                    changed.link_errors = errors;
                    changed.changes.push_back({.quantity = Quantity::kExchange,
                                               .last = changed.shape.tasks - 1,
                                               .when = {from, kNever},
                                               .factor = factor,
                                               .sign = Sign::kBadLink});
                },
            .onset = from,
            .where = "node 0",
            .truth = fmt::format(
                "The network link of node 0 damages {:.2g} packets a second, which are sent again.", errors),
            .follows = "all ranks spend more of each step in communication"};
}

constexpr Cause kCauses[] = {
    {"network_congestion", "Exchanges between nodes take longer for a while.", {.nodes = true}, congestion},
    {"exposed_communication",
     "Much of each step is communication that no computing hides.",
     {.nodes = true},
     exposed},
    {"link_flaps",
     "The network link of a node goes down and comes up again.",
     {.nodes = true, .kernel_log = true, .seconds = 240},
     link_flaps},
    {"damaged_packets", "The network link of a node loses packets.", {.nodes = true}, damaged_packets},
};

}  // namespace

std::span<const Cause> fabric_causes() {
    return kCauses;
}

}  // namespace belay::second_generator
