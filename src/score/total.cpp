#include "score/total.h"

#include <algorithm>
#include <limits>

namespace belay::score {

namespace {

void add_shares(Shares& sum, const Shares& part, double factor) {
    sum.idle += factor * part.idle;
    sum.gap += factor * part.gap;
    sum.unsaturated += factor * part.unsaturated;
    sum.saturated += factor * part.saturated;
}

}  // namespace

void Totals::add(double weight, double seconds, const WindowScore& window) {
    const double time = weight * seconds;
    observed += time;
    slack += time * (window.highest - window.shares.saturated);
    add_shares(shares, window.shares, time);
}

void Totals::merge(const Totals& other) {
    allocated += other.allocated;
    observed += other.observed;
    slack += other.slack;
    add_shares(shares, other.shares, 1);
}

Score score_of(const Totals& totals) {
    const double allocated = std::max(totals.allocated, totals.observed);
    constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
    if (allocated <= 0) return {.point = kNothing};
    const double missing = allocated - totals.observed;
    Score score;
    score.coverage = totals.observed / allocated;
    score.low = 100 * totals.shares.saturated / allocated;
    score.high = std::min(100.0, 100 * (totals.shares.saturated + totals.slack + missing) / allocated);
    if (totals.observed <= 0) {
        score.point = kNothing;
        return score;
    }
    add_shares(score.shares, totals.shares, 1 / totals.observed);
    score.point = std::clamp(100 * score.shares.saturated, score.low, score.high);
    return score;
}

}  // namespace belay::score
