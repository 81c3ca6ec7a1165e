#include "score/window.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace belay::score {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

double in_range(double ratio) {
    return std::clamp(ratio, 0.0, 1.0);
}

// The counter of fp32 counts fused multiply-adds and integer instructions alike (NVIDIA, DCGM feature
// overview).
double active_of(Limit limit, const Activity& activity) {
    double active = activity.active[static_cast<size_t>(limit)];
    if (limit == Limit::kFp32 && !std::isnan(activity.integer))
        return std::max(0.0, active - in_range(activity.integer));
    return active;
}

// DRAM has a clock of its own; everything else slows down with that of the multiprocessors.
double used_of(Limit limit, const Activity& activity, const Ceilings& ceilings, double clock_ratio) {
    double active = active_of(limit, activity);
    if (std::isnan(active)) return kMissing;
    double scale = limit == Limit::kDram ? 1 : clock_ratio;
    return in_range(in_range(active) * scale / ceilings.active[static_cast<size_t>(limit)]);
}

}  // namespace

Activity::Activity() : integer(kMissing), engine(kMissing), sm(kMissing), clock_hertz(kMissing) {
    active.fill(kMissing);
}

std::optional<WindowScore> score_window(const Activity& activity, const Ceilings& ceilings,
                                        Averaging averaging) {
    WindowScore score;
    score.clock_unknown = std::isnan(activity.clock_hertz) || ceilings.clock_hertz <= 0;
    score.integer_unknown = std::isnan(activity.integer);
    const double clock_ratio = score.clock_unknown ? 1 : activity.clock_hertz / ceilings.clock_hertz;
    double highest = -1;
    double sum = 0;
    for (size_t i = 0; i < kLimits; ++i) {
        double used = used_of(static_cast<Limit>(i), activity, ceilings, clock_ratio);
        score.used[i] = used;
        if (std::isnan(used)) continue;
        sum += used;
        if (used <= highest) continue;
        highest = used;
        score.limit = static_cast<Limit>(i);
    }
    if (highest < 0) return std::nullopt;
    const double saturated = highest;
    const double sm = std::isnan(activity.sm) ? saturated : std::max(in_range(activity.sm), saturated);
    const double engine = std::isnan(activity.engine) ? sm : std::max(in_range(activity.engine), sm);
    score.shares = {
        .idle = 1 - engine, .gap = engine - sm, .unsaturated = sm - saturated, .saturated = saturated};
    score.copy_driven =
        !std::isnan(activity.sm) && score.limit == Limit::kDram && saturated > in_range(activity.sm);
    // The mean of the highest is at least the highest of the means, and at most the sum of the means.
    score.highest = averaging == Averaging::kFine ? saturated : std::min(1.0, sum);
    return score;
}

}  // namespace belay::score
