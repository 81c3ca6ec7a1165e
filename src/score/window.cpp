#include "score/window.h"

#include "score/window_block.h"

#include <cmath>

namespace belay::score {

Activity::Activity()
    : integer(kMissing), tensor_fp64(kMissing), engine(kMissing), sm(kMissing), clock_hertz(kMissing) {
    active.fill(kMissing);
}

std::optional<WindowScore> score_window(const Activity& activity, const Ceilings& ceilings,
                                        Averaging averaging) {
    ActivityBlock block;
    ScoreBlock scores;
    block.set(0, activity, averaging);
    score_windows(block, 1, ceilings, scores);
    const double saturated = scores.saturated[0];
    if (std::isnan(saturated)) return std::nullopt;
    WindowScore score{.shares = {.idle = scores.idle[0],
                                 .gap = scores.gap[0],
                                 .unsaturated = scores.unsaturated[0],
                                 .saturated = saturated},
                      .highest = scores.highest[0],
                      .clock_unknown = std::isnan(activity.clock_hertz) || ceilings.clock_hertz <= 0,
                      .integer_unknown = std::isnan(activity.integer)};
    for (size_t i = 0; i < kLimits; ++i) score.used[i] = scores.used[i][0];
    for (size_t i = kLimits; i-- > 0;)  // the first of equals
        if (score.used[i] == saturated) score.limit = static_cast<Limit>(i);
    score.copy_driven = is_copy_driven(score.used[static_cast<size_t>(Limit::kDram)], saturated, activity.sm);
    return score;
}

}  // namespace belay::score
