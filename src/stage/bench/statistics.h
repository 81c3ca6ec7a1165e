// What many measured times say. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace belay::stage {

// Seconds that one operation took; NaN where there was none. A percentile is the smallest time that so many
// of all did not exceed (nearest rank), which is one that was measured.
struct LatencySummary {
    uint64_t count = 0;
    double mean = 0;
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
    double p999 = 0;
    double longest = 0;
};
LatencySummary summarize_latencies(std::vector<double> seconds);

// A training step of an emulated accelerator: it waits for its data from `begin` to `ready` and computes from
// then to `end`. Seconds.
struct EmulatedStep {
    double begin = 0;
    double ready = 0;
    double end = 0;
};

// The share of the time in which an accelerator computes (accelerator utilisation), as DLIO has it: of one
// block of steps, the sum of their compute times by the time from the begin of the first to the end of the
// last, without the first and the last `dropped` steps of the block (dlio_benchmark/utils/statscounter.py).
struct Utilisation {
    double share = 0;
    uint64_t steps = 0;  // that count
};
inline constexpr size_t kDroppedSteps = 1;
// Nothing where no step is left.
std::optional<Utilisation> utilisation_of_block(std::span<const EmulatedStep> steps,
                                                size_t dropped = kDroppedSteps);

// The mean over blocks, and over accelerators likewise, weighted by the steps that count. Nothing without
// any.
std::optional<Utilisation> mean_utilisation(std::span<const Utilisation> blocks);

}  // namespace belay::stage
