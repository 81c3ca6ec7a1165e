// Windows of one device column by column, so that the model is computed for many of them at once: a day of a
// thousand GPUs has 88 million.
#pragma once

#include "score/window.h"

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>

namespace belay::score {

inline constexpr size_t kBlockRows = 64;
using BlockColumn = std::array<double, kBlockRows>;

// What score_window() takes, for each row.
struct ActivityBlock {
    std::array<BlockColumn, kLimits> active;
    BlockColumn integer;
    BlockColumn tensor_fp64;
    BlockColumn engine;
    BlockColumn sm;
    BlockColumn clock_hertz;
    BlockColumn coarse;  // 1 for Averaging::kCoarse, else 0

    void set(size_t row, const Activity& activity, Averaging averaging);
};

// What score_window() gives. Where no limit was sampled all is NaN, where one was not, its `used`.
struct ScoreBlock {
    BlockColumn idle;
    BlockColumn gap;
    BlockColumn unsaturated;
    BlockColumn saturated;
    BlockColumn highest;
    std::array<BlockColumn, kLimits> used;
};

// The first `rows` of each column.
void score_windows(const ActivityBlock& activity, size_t rows, const Ceilings& ceilings, ScoreBlock& scores);

// The higher of two values of which either may be missing (NaN).
template <std::floating_point Number>
Number highest_of(Number a, Number b) {
    return b > a || std::isnan(a) ? b : a;
}

// Of values with weights, those that are not NaN.
struct WeightedSum {
    double sum = 0;     // weight × value
    double weight = 0;  // of the values
    WeightedSum& operator+=(const WeightedSum& other);
    double mean() const;  // NaN of nothing
};
WeightedSum add_known(const BlockColumn& values, const BlockColumn& weights, size_t rows);

}  // namespace belay::score
