#include "score/companion.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace belay::score {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kRunningShare = 0.5;  // of the 90th percentile
constexpr double kRunningSeconds = 30;
constexpr double kHighQuantile = 0.9;

struct Moments {
    double mean = 0;
    double deviation = 0;
};

Moments moments_of(std::span<const Stretch> job) {
    double seconds = 0;
    double sum = 0;
    for (const Stretch& stretch : job) {
        if (std::isnan(stretch.saturation)) continue;
        seconds += stretch.seconds;
        sum += stretch.seconds * stretch.saturation;
    }
    if (seconds <= 0) return {kNothing, kNothing};
    const double mean = sum / seconds;
    double squares = 0;
    for (const Stretch& stretch : job)
        if (!std::isnan(stretch.saturation))
            squares += stretch.seconds * std::pow(stretch.saturation - mean, 2);
    return {mean, std::sqrt(squares / seconds)};
}

}  // namespace

double quantile(std::span<const Stretch> job, double share) {
    std::vector<Stretch> sorted;
    for (const Stretch& stretch : job)
        if (!std::isnan(stretch.saturation)) sorted.push_back(stretch);
    std::ranges::sort(sorted, {}, &Stretch::saturation);
    double seconds = 0;
    for (const Stretch& stretch : sorted) seconds += stretch.seconds;
    double passed = 0;
    for (const Stretch& stretch : sorted) {
        passed += stretch.seconds;
        if (passed >= share * seconds && stretch.seconds > 0) return stretch.saturation;
    }
    return kNothing;
}

std::optional<double> startup_seconds(std::span<const Stretch> job) {
    const double enough = kRunningShare * quantile(job, kHighQuantile);
    if (!(enough > 0)) return std::nullopt;
    double now = 0;
    double since = 0;     // when it last rose to enough
    double observed = 0;  // since then
    bool running = false;
    for (const Stretch& stretch : job) {
        if (std::isnan(stretch.saturation)) {
            now += stretch.seconds;
            continue;
        }
        if (stretch.saturation < enough) {
            running = false;
        } else if (!std::exchange(running, true)) {
            since = now;
            observed = 0;
        }
        now += stretch.seconds;
        observed += stretch.seconds;
        if (running && observed >= kRunningSeconds) return since;
    }
    return std::nullopt;
}

double steady_score(std::span<const Stretch> job, double startup) {
    double now = 0;
    double seconds = 0;
    double sum = 0;
    for (const Stretch& stretch : job) {
        const double counted = std::clamp(now + stretch.seconds - startup, 0.0, stretch.seconds);
        now += stretch.seconds;
        if (std::isnan(stretch.saturation)) continue;
        seconds += counted * stretch.observed;
        sum += counted * stretch.observed * stretch.saturation;
    }
    return seconds > 0 ? 100 * sum / seconds : kNothing;
}

double imbalance(std::span<const double> device_means) {
    if (device_means.empty()) return kNothing;
    double sum = 0;
    for (double mean : device_means) sum += mean;
    const double highest = *std::ranges::max_element(device_means);
    return highest > 0 ? 1 - sum / static_cast<double>(device_means.size()) / highest : 0;
}

Burstiness burstiness(std::span<const Stretch> job) {
    const Moments moments = moments_of(job);
    if (!(moments.mean > 0)) return {kNothing, kNothing};
    return {moments.deviation / moments.mean,
            (moments.deviation - moments.mean) / (moments.deviation + moments.mean)};
}

double saturated_hours_per_kilowatt_hour(double saturated_gpu_seconds, double joules) {
    if (!(joules > 0)) return kNothing;
    return saturated_gpu_seconds / 3600 / (watt_hours(joules * 1000) / 1000);
}

double link_use(std::span<const double> traffic, std::span<const double> bandwidth) {
    double highest = kNothing;
    for (size_t i = 0; i < traffic.size(); ++i) {
        const double use = bandwidth[i] > 0 ? std::min(traffic[i] / bandwidth[i], 1.0) : kNothing;
        if (!(highest >= use) && !std::isnan(use)) highest = use;
    }
    return highest;
}

}  // namespace belay::score
