#include "score/window_block.h"

namespace belay::score {

namespace {

constexpr size_t kLanes = 4;  // sums that are made side by side

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
double without_integer(double fp32_active, double integer_active) {
    return at_least(0, in_range(fp32_active) - in_range(or_zero(integer_active)));
}

// NVML's counter of the tensor pipe also counts FP64 there, and FP16 outside of matrices (measured on H100
// and H200, docs/measured/gpu-ceilings.md). Both take more of the pipe's time for an operation and reach
// their limits at another clock. Other sources do not tell FP64 apart, and what else they count there is not
// known: all of it is taken as tensor work.
double without_other_work(double tensor_active, double tensor_fp64, double fp16_active) {
    const bool is_told = tensor_fp64 == tensor_fp64;
    const double other = is_told ? in_range(tensor_fp64) + in_range(or_zero(fp16_active)) : 0;
    return at_least(0, in_range(tensor_active) - other);
}

// FP64 work on its own pipe or on the tensor pipe.
double all_fp64(double fp64_active, double tensor_fp64) {
    return in_range(in_range(fp64_active) + in_range(or_zero(tensor_fp64)));
}

// 1 where the clock, or that of the ceilings, is not known.
void clock_ratios(const BlockColumn& clock_hertz, size_t rows, double ceiling_hertz, BlockColumn& ratios) {
    const double inverse = ceiling_hertz > 0 ? 1 / ceiling_hertz : kMissing;
    for (size_t row = 0; row < rows; ++row) {
        const double ratio = clock_hertz[row] * inverse;
        ratios[row] = ratio == ratio ? ratio : 1;
    }
}

// Of a ceiling, the share that was reached. DRAM has a clock of its own; everything else slows down with that
// of the multiprocessors.
void use_limit(Limit limit, const ActivityBlock& activity, const BlockColumn& clock, size_t rows,
               const Ceilings& ceilings, BlockColumn& used) {
    const BlockColumn& active = activity.active[static_cast<size_t>(limit)];
    const double inverse = 1 / ceilings.active[static_cast<size_t>(limit)];
    const auto fill = [&](auto&& own_share) {
        for (size_t row = 0; row < rows; ++row) used[row] = in_range(own_share(row) * inverse);
    };
    switch (limit) {
        case Limit::kTensor: {
            const BlockColumn& fp16 = activity.active[static_cast<size_t>(Limit::kFp16)];
            return fill([&](size_t row) {
                return without_other_work(active[row], activity.tensor_fp64[row], fp16[row]) * clock[row];
            });
        }
        case Limit::kFp64:
            return fill(
                [&](size_t row) { return all_fp64(active[row], activity.tensor_fp64[row]) * clock[row]; });
        case Limit::kFp32:
            return fill(
                [&](size_t row) { return without_integer(active[row], activity.integer[row]) * clock[row]; });
        case Limit::kFp16:
            return fill([&](size_t row) { return in_range(active[row]) * clock[row]; });
        case Limit::kDram:
            return fill([&](size_t row) { return in_range(active[row]); });
    }
}

// The most that a limit which was not sampled may have been used; 0 if all were. A pipe works for warps, so
// it is active at most as long as a multiprocessor is, or, where that is not known, the engine; copies use
// DRAM without either.
double highest_unknown(const ActivityBlock& activity, size_t row, double clock, const Ceilings& ceilings) {
    const double sm = activity.sm[row];
    const double engine = activity.engine[row];
    const double warps = sm == sm ? in_range(sm) : engine == engine ? in_range(engine) : 1;
    double highest = 0;
    for (size_t i = 0; i < kLimits; ++i) {
        if (activity.active[i][row] == activity.active[i][row]) continue;
        if (static_cast<Limit>(i) == Limit::kDram) return 1;
        highest = at_least(highest, in_range(warps * clock / ceilings.active[i]));
    }
    return highest;
}

// The mean of the highest is at least the highest of the means, and at most their sum. The clock was read at
// the end of the window, and may have been the highest while it worked; integer work may have been at another
// time than FP32's.
double highest_of_coarse(const ActivityBlock& activity, size_t row, double clock, const Ceilings& ceilings) {
    const double fastest =
        ceilings.clock_hertz > 0 ? at_least(ceilings.highest_clock() / ceilings.clock_hertz, clock) : 1;
    double sum = highest_unknown(activity, row, fastest, ceilings);
    for (size_t i = 0; i < kLimits; ++i) {
        const double ratio = static_cast<Limit>(i) == Limit::kDram ? 1 : fastest;
        sum += or_zero(in_range(in_range(activity.active[i][row]) * ratio / ceilings.active[i]));
    }
    // FP64 on the tensor pipe may be worth more there than it is as tensor work.
    sum += or_zero(in_range(in_range(activity.tensor_fp64[row]) * fastest /
                            ceilings.active[static_cast<size_t>(Limit::kFp64)]));
    return at_most(1, sum);
}

}  // namespace

void ActivityBlock::set(size_t row, const Activity& from, Averaging averaging) {
    for (size_t i = 0; i < kLimits; ++i) active[i][row] = from.active[i];
    integer[row] = from.integer;
    tensor_fp64[row] = from.tensor_fp64;
    engine[row] = from.engine;
    sm[row] = from.sm;
    clock_hertz[row] = from.clock_hertz;
    coarse[row] = averaging == Averaging::kCoarse ? 1 : 0;
}

void score_windows(const ActivityBlock& activity, size_t rows, const Ceilings& ceilings, ScoreBlock& scores) {
    BlockColumn clock;
    clock_ratios(activity.clock_hertz, rows, ceilings.clock_hertz, clock);
    for (size_t i = 0; i < kLimits; ++i)
        use_limit(static_cast<Limit>(i), activity, clock, rows, ceilings, scores.used[i]);
    for (size_t row = 0; row < rows; ++row) {
        double saturated = -1;
        for (size_t i = 0; i < kLimits; ++i) {
            const double used = scores.used[i][row];
            saturated = used > saturated ? used : saturated;
        }
        saturated = saturated < 0 ? kMissing : saturated;
        const double sm = at_least(in_range(activity.sm[row]), saturated);
        const double engine = at_least(in_range(activity.engine[row]), sm);
        scores.idle[row] = 1 - engine;
        scores.gap[row] = engine - sm;
        scores.unsaturated[row] = sm - saturated;
        scores.saturated[row] = saturated;
    }
    for (size_t row = 0; row < rows; ++row) {
        const double saturated = scores.saturated[row];
        scores.highest[row] = saturated != saturated ? kMissing
                              : activity.coarse[row] > 0
                                  ? highest_of_coarse(activity, row, clock[row], ceilings)
                                  : at_least(saturated, highest_unknown(activity, row, clock[row], ceilings));
    }
}

WeightedSum& WeightedSum::operator+=(const WeightedSum& other) {
    sum += other.sum;
    weight += other.weight;
    return *this;
}

double WeightedSum::mean() const {
    return weight > 0 ? sum / weight : kMissing;
}

WeightedSum add_known(const BlockColumn& values, const BlockColumn& weights, size_t rows) {
    std::array<double, kLanes> sums{};
    std::array<double, kLanes> known{};
    auto add = [&](size_t lane, size_t row) {
        const double value = values[row];
        const double weight = value == value ? weights[row] : 0;
        sums[lane] += value == value ? weight * value : 0;
        known[lane] += weight;
    };
    size_t row = 0;
    for (; row + kLanes <= rows; row += kLanes)
        for (size_t lane = 0; lane < kLanes; ++lane) add(lane, row + lane);
    for (; row < rows; ++row) add(0, row);
    return {(sums[0] + sums[1]) + (sums[2] + sums[3]), (known[0] + known[1]) + (known[2] + known[3])};
}

}  // namespace belay::score
