#include "score/window.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace belay::score {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Written so that a NaN stays one and no branch is made of noise.
double at_least(double low, double value) {
    return low > value ? low : value;
}
double at_most(double high, double value) {
    return high < value ? high : value;
}
double in_range(double ratio) {
    return at_most(1, at_least(0, ratio));
}

double or_zero(double value) {
    return value == value ? value : 0;
}

// The counter of fp32 counts fused multiply-adds and integer instructions alike (NVIDIA, DCGM feature
// overview).
double active_of(Limit limit, const Activity& activity) {
    const double active = in_range(activity.active[static_cast<size_t>(limit)]);
    return limit == Limit::kFp32 ? at_least(0, active - in_range(or_zero(activity.integer))) : active;
}

// DRAM has a clock of its own; everything else slows down with that of the multiprocessors.
double used_of(Limit limit, const Activity& activity, const Ceilings& ceilings, double clock_ratio) {
    const double scale = limit == Limit::kDram ? 1 : clock_ratio;
    return in_range(active_of(limit, activity) * scale / ceilings.active[static_cast<size_t>(limit)]);
}

}  // namespace

Activity::Activity() : integer(kMissing), engine(kMissing), sm(kMissing), clock_hertz(kMissing) {
    active.fill(kMissing);
}

std::optional<WindowScore> score_window(const Activity& activity, const Ceilings& ceilings,
                                        Averaging averaging) {
    // Made where it is returned: copying it costs a third of the time that a day of samples takes.
    std::optional<WindowScore> result(std::in_place);
    WindowScore& score = *result;
    score.clock_unknown = std::isnan(activity.clock_hertz) || ceilings.clock_hertz <= 0;
    score.integer_unknown = std::isnan(activity.integer);
    const double clock_ratio = score.clock_unknown ? 1 : activity.clock_hertz / ceilings.clock_hertz;
    double highest = -1;
    double sum = 0;
    size_t limit = 0;
    for (size_t i = 0; i < kLimits; ++i) {
        const double used = used_of(static_cast<Limit>(i), activity, ceilings, clock_ratio);
        score.used[i] = used;
        sum += or_zero(used);
        limit = used > highest ? i : limit;
        highest = used > highest ? used : highest;
    }
    if (highest < 0) {
        result.reset();
        return result;
    }
    score.limit = static_cast<Limit>(limit);
    const double saturated = highest;
    // What was not sampled is passed over: at_least() keeps the first of the two.
    const double sm = at_least(in_range(activity.sm), saturated);
    const double engine = at_least(in_range(activity.engine), sm);
    score.shares = {
        .idle = 1 - engine, .gap = engine - sm, .unsaturated = sm - saturated, .saturated = saturated};
    score.copy_driven =
        !std::isnan(activity.sm) && score.limit == Limit::kDram && saturated > in_range(activity.sm);
    // The mean of the highest is at least the highest of the means, and at most the sum of the means.
    score.highest = averaging == Averaging::kFine ? saturated : std::min(1.0, sum);
    return result;
}

}  // namespace belay::score
