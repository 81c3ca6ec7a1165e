#include "bench/schedule/rate.h"

#include <cmath>

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using testing::HasSubstr;

constexpr int kBoundaries[] = {20, 30};
constexpr double kShares[] = {0.6, 0.8}, kFactors[] = {0.1, 0.01};

StepPlace at_step(int64_t step, int64_t total = 100) {
    return {.epoch = static_cast<int>((step - 1) / 10 + 1),
            .step = step,
            .total_steps = total,
            .epoch_steps = 10};
}

TEST(bench, rate_warms_up_by_steps) {
    const RateSchedule rate{.warmup_rate = 0.2, .base_rate = 1, .warmup_steps = 4};
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(1)), 0.2);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(3)), 0.6);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(4)), 0.8);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(5)), 1);
}

TEST(bench, rate_decays_behind_steps_and_shares) {
    RateSchedule rate{.base_rate = 1, .decay_factors = kFactors, .decay_steps = kBoundaries};
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(20)), 1);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(21)), 0.1);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(31)), 0.01);
    EXPECT_THAT(rate.boundary_steps(10, 100), testing::ElementsAre(20, 30));
    rate.decay_steps = {};
    rate.decay_shares = kShares;
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(60)), 1);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(61)), 0.1);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(81)), 0.01);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(61, 200)), 1);
    EXPECT_THAT(rate.boundary_steps(10, 100), testing::ElementsAre(60, 80));
    rate.decay_shares = {};
    rate.decay_epochs = kBoundaries;
    EXPECT_THAT(rate.boundary_steps(10, 100), testing::ElementsAre(200, 300));
}

TEST(bench, rate_falls_as_a_cosine) {
    const RateSchedule rate{.base_rate = 1, .warmup_steps = 20, .course = Course::kCosine, .final_rate = 0.2};
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(21)), 1);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(61)), 0.6) << "half way";
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(41)), 0.2 + 0.8 * (1 + std::sqrt(0.5)) / 2);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(101)), 0.2);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(500)), 0.2) << "beyond the end";
}

TEST(bench, rate_cosine_begins_at_the_peak_behind_a_warmup_in_epochs) {
    const RateSchedule rate{.base_rate = 1, .warmup_epochs = 2, .course = Course::kCosine, .final_rate = 0.2};
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(20)), 0.5);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(21)), 1);
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(61)), 0.6) << "half way";
}

TEST(bench, rate_starts_its_warmup_at_a_rate_or_at_a_share_of_the_peak) {
    RateSchedule rate{.warmup_rate = 0.1, .base_rate = 1, .reference_batch = 8, .warmup_steps = 10};
    EXPECT_DOUBLE_EQ(rate.at(32, at_step(1)), 0.1);
    rate.warmup_factor = 0.2;
    EXPECT_DOUBLE_EQ(rate.at(8, at_step(1)), 0.2);
    EXPECT_DOUBLE_EQ(rate.at(32, at_step(1)), 0.8);
}

TEST(bench, rate_follows_the_batch_as_it_is_told) {
    RateSchedule rate{.base_rate = 0.5, .reference_batch = 16};
    EXPECT_DOUBLE_EQ(rate.peak(64), 2);
    rate.scaling = Scaling::kSquareRoot;
    EXPECT_DOUBLE_EQ(rate.peak(64), 1);
    EXPECT_DOUBLE_EQ(rate.peak(4), 0.25);
    rate.scaling = Scaling::kNone;
    EXPECT_DOUBLE_EQ(rate.peak(64), 0.5);
    EXPECT_EQ(*scaling_named("sqrt"), Scaling::kSquareRoot);
    EXPECT_THAT(scaling_named("cubic").error().message(), HasSubstr("neither linear, sqrt nor none"));
}

TEST(bench, rate_warmup_is_written_in_epochs_or_steps) {
    RateSchedule rate{.warmup_epochs = 3};
    ASSERT_TRUE(set_warmup("400steps", rate));
    EXPECT_EQ(rate.warmup_steps, 400);
    EXPECT_EQ(rate.warmup_epochs, 0);
    ASSERT_TRUE(set_warmup("2", rate));
    EXPECT_EQ(rate.warmup_epochs, 2);
    EXPECT_EQ(rate.warmup_steps, 0);
    ASSERT_TRUE(set_warmup("5epochs", rate));
    EXPECT_EQ(rate.warmup_epochs, 5);
    for (const char* wrong : {"", "-1", "3 weeks", "steps", "99999999999"})
        EXPECT_EQ(set_warmup(wrong, rate).error().exit_status(), 2) << wrong;
}

}  // namespace
}  // namespace belay::bench
