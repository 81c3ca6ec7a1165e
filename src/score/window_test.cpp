#include "score/window.h"

#include "score/score_testing.h"
#include "score/window_block.h"

#include <cmath>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

namespace belay::score {
namespace {

using testing::activity;
using testing::example_ceilings;
using testing::Given;
using testing::Random;

double saturation_of(const Given& given) {
    return score_window(activity(given), example_ceilings())->shares.saturated;
}

TEST(score, example_1_gemm_at_its_ceiling) {
    EXPECT_DOUBLE_EQ(saturation_of({.tensor = 0.90, .dram = 0.30}), 1);
}
TEST(score, example_2_stream_at_its_ceiling) {
    EXPECT_DOUBLE_EQ(saturation_of({.tensor = 0, .dram = 0.80}), 1);
}
TEST(score, example_3_linear_below) {
    EXPECT_DOUBLE_EQ(saturation_of({.tensor = 0.45, .dram = 0.20}), 0.5);
}
TEST(score, example_4_spinning_is_no_work) {
    EXPECT_DOUBLE_EQ(saturation_of({.fp32 = 0.93, .integer = 0.93, .sm = 1}), 0);
}
TEST(score, example_5_a_slower_clock_lowers_it) {
    EXPECT_NEAR(saturation_of({.tensor = 0.72, .clock_hertz = 1500e6}), 1080 / 1579.5, 1e-12);
}
TEST(score, example_6_highest_and_not_sum) {
    auto score = score_window(activity({.tensor = 0.18, .dram = 0.56}), example_ceilings());
    EXPECT_NEAR(score->used[static_cast<size_t>(Limit::kTensor)], 0.20, 1e-12);
    EXPECT_NEAR(score->shares.saturated, 0.70, 1e-12);
    EXPECT_EQ(score->limit, Limit::kDram);
}

// As measured on an H100 (tests/data/gpu/h100.json): its counter of the tensor pipe counts FP64 matrices and
// FP16 outside of matrices too.
TEST(score, fp64_and_vector_fp16_on_the_tensor_pipe_have_limits_of_their_own) {
    Ceilings h100;
    h100.active = {0.657, 0.995, 0.966, 0.977, 0.912};
    h100.clock_hertz = 1980e6;
    auto used = [&](double tensor, double fp64, double fp16, double clock_hertz) {
        Activity given;
        given.active = {tensor, 0, 0, fp16, 0};
        given.tensor_fp64 = fp64;
        given.clock_hertz = clock_hertz;
        auto score = score_window(given, h100);
        return std::pair(score->shares.saturated, score->limit);
    };
    auto expect = [&](std::pair<double, Limit> found, double saturated, Limit limit) {
        EXPECT_NEAR(found.first, saturated, 0.002);
        EXPECT_EQ(found.second, limit);
    };
    expect(used(0.9379, 0, 0, 1387.5e6), 1, Limit::kTensor);
    expect(used(0.9459, 0.9459, 0, 1920e6), 0.9459 * 1920 / 1980 / 0.995, Limit::kFp64);
    expect(used(0.9459 / 2, 0.9459 / 2, 0, 1980e6), 0.475, Limit::kFp64);
    expect(used(0.9767, 0, 0.9767, 1980e6), 1, Limit::kFp16);
    expect(used(0.9767 / 2, 0, 0.9767 / 2, 1980e6), 0.5, Limit::kFp16);
    const double missing = std::numeric_limits<double>::quiet_NaN();
    expect(used(0.6, missing, 0.3, 1980e6), 0.6 / 0.657, Limit::kTensor);
}

// A pipe that nobody sampled may have been used as long as a multiprocessor was active, and DRAM always.
TEST(score, a_limit_that_was_not_sampled_widens_the_bounds) {
    const double missing = std::numeric_limits<double>::quiet_NaN();
    auto bounds = [](const Activity& given) {
        auto score = score_window(given, example_ceilings());
        return std::pair(score->shares.saturated, score->highest);
    };
    Activity dram_alone;
    dram_alone.active[static_cast<size_t>(Limit::kDram)] = 0.3;
    EXPECT_EQ(bounds(dram_alone), std::pair(0.375, 1.0));
    dram_alone.sm = 0.45;
    dram_alone.clock_hertz = 1755e6;
    EXPECT_EQ(bounds(dram_alone), std::pair(0.375, 0.5)) << "of the ceiling of the tensor pipe, 0.9";
    Activity no_fp16 = activity({.tensor = 0.81, .dram = 0.1, .sm = 0.81});
    no_fp16.active[static_cast<size_t>(Limit::kFp16)] = missing;
    EXPECT_NEAR(bounds(no_fp16).second, bounds(no_fp16).first, 1e-9) << "no more than the warps allow";
    Activity no_dram = activity({.tensor = 0.45, .sm = 0.9});
    no_dram.active[static_cast<size_t>(Limit::kDram)] = missing;
    EXPECT_EQ(bounds(no_dram), std::pair(0.5, 1.0)) << "copies need no warps";
}

void expect_shares(const Given& given, double idle, double gap, double unsaturated, double saturated) {
    Shares shares = score_window(activity(given), example_ceilings())->shares;
    EXPECT_NEAR(shares.idle, idle, 1e-12);
    EXPECT_NEAR(shares.gap, gap, 1e-12);
    EXPECT_NEAR(shares.unsaturated, unsaturated, 1e-12);
    EXPECT_NEAR(shares.saturated, saturated, 1e-12);
}

TEST(score, example_7_four_shares) {
    expect_shares({.dram = 0.40, .sm = 0.80, .engine = 0.92}, 0.08, 0.12, 0.30, 0.50);
}
TEST(score, example_8_disorder_of_counters) {
    expect_shares({.dram = 0.56, .sm = 0.97, .engine = 0.95}, 0.03, 0, 0.27, 0.70);
    expect_shares({.dram = 0.28, .sm = 0.20, .engine = 0.30}, 0.65, 0, 0, 0.35);
    EXPECT_TRUE(score_window(activity({.dram = 0.28, .sm = 0.20}), example_ceilings())->copy_driven);
    EXPECT_FALSE(score_window(activity({.dram = 0.28, .sm = 0.50}), example_ceilings())->copy_driven);
}

TEST(score, what_is_not_sampled_is_said) {
    EXPECT_FALSE(score_window(Activity(), Ceilings()));
    Activity alone;
    alone.active[static_cast<size_t>(Limit::kTensor)] = 0.5;
    auto score = score_window(alone, example_ceilings());
    ASSERT_TRUE(score);
    EXPECT_TRUE(score->clock_unknown);
    EXPECT_TRUE(score->integer_unknown);
    EXPECT_TRUE(std::isnan(score->used[static_cast<size_t>(Limit::kDram)]));
    EXPECT_NEAR(score->shares.saturated, 0.5 / 0.9, 1e-12);
    EXPECT_NEAR(score->shares.idle, 1 - 0.5 / 0.9, 1e-12);
}

// Means over a longer time hide what alternated: example 14.
TEST(score, example_14_a_coarse_window_only_bounds) {
    auto coarse =
        score_window(activity({.tensor = 0.45, .dram = 0.40}), example_ceilings(), Averaging::kCoarse);
    EXPECT_NEAR(coarse->shares.saturated, 0.5, 1e-12);
    EXPECT_NEAR(coarse->highest, 1, 1e-12);
    Totals fine;
    fine.allocate(1, 2);
    fine.add(1, 1, *score_window(activity({.tensor = 0.9}), example_ceilings()));
    fine.add(1, 1, *score_window(activity({.dram = 0.8}), example_ceilings()));
    EXPECT_DOUBLE_EQ(score_of(fine).point, 100);
}

TEST(score, shares_make_up_one) {
    Random random(1);
    for (int i = 0; i < 20'000; ++i) {
        Activity given = random.activity();
        for (double* value : {&given.integer, &given.engine, &given.sm, &given.clock_hertz, &given.active[2]})
            if (random.chance(0.2)) *value = std::numeric_limits<double>::quiet_NaN();
        auto score = score_window(given, example_ceilings());
        ASSERT_TRUE(score);
        const Shares& s = score->shares;
        ASSERT_NEAR(s.idle + s.gap + s.unsaturated + s.saturated, 1, 1e-9);
        for (double share : {s.idle, s.gap, s.unsaturated, s.saturated}) ASSERT_GE(share, 0);
        ASSERT_GE(score->highest, s.saturated);
        ASSERT_LE(score->highest, 1);
    }
}

TEST(score, more_of_any_limit_never_lowers_it) {
    Random random(2);
    for (int i = 0; i < 20'000; ++i) {
        Activity less = random.activity();
        Activity more = less;
        double& raised = more.active[static_cast<size_t>(random.between(0, kLimits - 1e-9))];
        raised = random.between(raised, 1.2);
        ASSERT_LE(score_window(less, example_ceilings())->shares.saturated,
                  score_window(more, example_ceilings())->shares.saturated);
    }
}

TEST(score, nothing_active_is_zero_at_any_clock) {
    Random random(3);
    for (int i = 0; i < 1000; ++i) {
        auto score = score_window(activity({.sm = 0, .engine = 0, .clock_hertz = random.between(0, 3e9)}),
                                  example_ceilings());
        ASSERT_EQ(score->shares.saturated, 0);
        ASSERT_EQ(score->shares.idle, 1);
    }
}

TEST(score, values_out_of_range_stay_in_range) {
    for (double wild : {-1.0, 2.0, 1e300, -1e300, std::numeric_limits<double>::infinity()}) {
        Activity given = activity({.tensor = wild, .dram = wild, .fp32 = wild, .sm = wild, .engine = wild});
        auto score = score_window(given, example_ceilings());
        ASSERT_TRUE(score);
        EXPECT_GE(score->shares.saturated, 0);
        EXPECT_LE(score->shares.saturated, 1);
    }
}

TEST(score, windows_together_are_scored_as_alone) {
    Random random(9);
    ActivityBlock block;
    std::array<Activity, kBlockRows> alone;
    std::array<Averaging, kBlockRows> averaging{};
    for (size_t row = 0; row < kBlockRows; ++row) {
        alone[row] = random.activity();
        if (random.chance(0.2)) alone[row].active.fill(std::nan(""));
        for (double* value : {&alone[row].active[0], &alone[row].active[4], &alone[row].integer,
                              &alone[row].engine, &alone[row].sm, &alone[row].clock_hertz})
            if (random.chance(0.3)) *value = std::nan("");
        averaging[row] = random.chance(0.5) ? Averaging::kCoarse : Averaging::kFine;
        block.set(row, alone[row], averaging[row]);
    }
    ScoreBlock together;
    score_windows(block, kBlockRows, example_ceilings(), together);
    for (size_t row = 0; row < kBlockRows; ++row) {
        auto score = score_window(alone[row], example_ceilings(), averaging[row]);
        ASSERT_EQ(score.has_value(), !std::isnan(together.saturated[row]));
        if (!score) continue;
        EXPECT_EQ(score->shares.saturated, together.saturated[row]);
        EXPECT_EQ(score->shares.idle, together.idle[row]);
        EXPECT_EQ(score->highest, together.highest[row]);
    }
}

TEST(score, the_upper_bound_of_a_coarse_window_holds_for_any_clock) {
    Ceilings ceilings = example_ceilings();
    ceilings.clock_max_hertz = 1980e6;
    // 5 s of work at the highest clock, then 5 s of nothing, in which the clock is read.
    const Activity given = activity({.tensor = 0.45, .clock_hertz = 345e6});
    const auto score = score_window(given, ceilings, Averaging::kCoarse);
    EXPECT_NEAR(score->highest, 0.45 * 1980 / 1755 / 0.9, 1e-9);
    // Integer work of one half need not have been beside FP32's of the other.
    const Activity mixed = activity({.fp32 = 0.475, .integer = 0.475});
    EXPECT_NEAR(score_window(mixed, example_ceilings(), Averaging::kCoarse)->highest, 0.5, 1e-9);
    EXPECT_EQ(score_window(mixed, example_ceilings())->highest, 0);
}

TEST(score, sums_are_of_what_is_known) {
    BlockColumn values;
    BlockColumn weights;
    Random random(10);
    for (size_t rows = 0; rows <= kBlockRows; ++rows) {
        double sum = 0;
        double weight = 0;
        for (size_t row = 0; row < rows; ++row) {
            values[row] = random.chance(0.3) ? std::nan("") : random.ratio();
            weights[row] = random.ratio();
            if (std::isnan(values[row])) continue;
            sum += weights[row] * values[row];
            weight += weights[row];
        }
        const WeightedSum known = add_known(values, weights, rows);
        EXPECT_NEAR(known.sum, sum, 1e-12);
        EXPECT_NEAR(known.weight, weight, 1e-12);
    }
}

}  // namespace
}  // namespace belay::score
