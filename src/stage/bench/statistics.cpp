#include "stage/bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace belay::stage {

LatencySummary summarize_latencies(std::vector<double> seconds) {
    LatencySummary summary{.count = seconds.size()};
    if (seconds.empty()) {
        summary.mean = summary.p50 = summary.p90 = summary.p99 = summary.p999 = summary.longest = NAN;
        return summary;
    }
    std::ranges::sort(seconds);
    const auto count = static_cast<double>(seconds.size());
    auto percentile = [&](double share) {
        const auto rank = static_cast<size_t>(std::ceil(share * count));
        return seconds[std::clamp<size_t>(rank, 1, seconds.size()) - 1];
    };
    summary.mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / count;
    summary.p50 = percentile(0.5);
    summary.p90 = percentile(0.9);
    summary.p99 = percentile(0.99);
    summary.p999 = percentile(0.999);
    summary.longest = seconds.back();
    return summary;
}

std::optional<Utilisation> utilisation_of_block(std::span<const EmulatedStep> steps, size_t dropped) {
    if (steps.size() <= 2 * dropped) return std::nullopt;
    const auto counted = steps.subspan(dropped, steps.size() - 2 * dropped);
    double compute = 0;
    for (const EmulatedStep& step : counted) compute += step.end - step.ready;
    const double wall = counted.back().end - counted.front().begin;
    return Utilisation{.share = wall > 0 ? compute / wall : 0, .steps = counted.size()};
}

std::optional<Utilisation> mean_utilisation(std::span<const Utilisation> blocks) {
    Utilisation sum;
    for (const Utilisation& block : blocks) {
        sum.share += block.share * static_cast<double>(block.steps);
        sum.steps += block.steps;
    }
    if (sum.steps == 0) return std::nullopt;
    sum.share /= static_cast<double>(sum.steps);
    return sum;
}

}  // namespace belay::stage
