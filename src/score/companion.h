// What stands beside the score: the same number hides different jobs.
#pragma once

#include <optional>
#include <span>

namespace belay::score {

// A stretch of time and the mean saturation of the devices observed in it, 0 to 1; NaN where it is not known.
struct Stretch {
    double seconds = 0;
    double saturation = 0;
    double observed = 1;  // share of the devices, by weight
};

// Seconds from the beginning until training ran: until the saturation first stays at half of its 90th
// percentile or more for 30 s. Nothing if it never does.
std::optional<double> startup_seconds(std::span<const Stretch> job);

// The score of the observed time, 0 to 100, without the first `startup` seconds; NaN if nothing is left.
double steady_score(std::span<const Stretch> job, double startup);

// 1 − mean/max of the devices' mean saturations: 0 if all are alike. 0 if all are 0, NaN for none.
double imbalance(std::span<const double> device_means);

struct Burstiness {
    double variation = 0;  // standard deviation over mean; NaN for a mean of 0
    double index = 0;      // (σ − μ)/(σ + μ), −1 regular to 1 in bursts (Goh and Barabási 2008)
};
Burstiness burstiness(std::span<const Stretch> job);

// The smallest value at which `share` of the time is at or below it; NaN for no time.
double quantile(std::span<const Stretch> job, double share);

// Tensor pipe × clock over the highest clock, of a window (arXiv 2605.20799, "OFU"). A device's is the mean
// of its windows' products, since the clock follows the load.
inline double flop_use(double tensor_active, double clock_hertz, double highest_clock_hertz) {
    return tensor_active * clock_hertz / highest_clock_hertz;
}

// From a difference of an energy counter.
inline double watt_hours(double millijoules) {
    return millijoules / 3.6e6;
}
// Saturated GPU-hours per kilowatt-hour; NaN without energy.
double saturated_hours_per_kilowatt_hour(double saturated_gpu_seconds, double joules);

// Use of the busiest link: traffic over its bandwidth (ceilings.h), both B/s in both directions, at most 1.
// NaN where no link with a known bandwidth was sampled.
double link_use(std::span<const double> traffic, std::span<const double> bandwidth);

// Waits for other devices: far below the limits of its own while a link is at half of its bandwidth or more.
inline constexpr double kLinkBoundSaturation = 0.3;
inline constexpr double kLinkBoundUse = 0.5;
inline bool is_link_bound(double saturation, double highest_link_use) {
    return saturation < kLinkBoundSaturation && highest_link_use >= kLinkBoundUse;
}

}  // namespace belay::score
