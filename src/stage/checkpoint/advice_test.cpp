#include "stage/checkpoint/advice.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::HasSubstr;

double interval(const CheckpointCost& cost, std::string_view model) {
    return std::round(advise(cost, model)->interval_seconds);
}

// Worked by hand from the papers' formulas.
TEST(stage_checkpoint, equals_the_worked_examples) {
    struct Row {
        double c, m, young, daly, availability, waste;
    };
    for (const Row& row : {Row{5, 3 * 3600, 329, 325, 343, 3.0},
                           {10, 3 * 3600, 465, 458, 488, 4.3},
                           {30, 3.1 * 3600, 818, 798, 871, 7.3},
                           {60, 7.9 * 3600, 1847, 1808, 1928, 6.5},
                           {10, 6000, 346, 340, 373, 5.8}}) {
        const CheckpointCost without{.write_seconds = row.c, .mtbf_seconds = row.m};
        const CheckpointCost with{.write_seconds = row.c, .mtbf_seconds = row.m, .restart_seconds = 600};
        EXPECT_EQ(interval(with, "young"), row.young);
        EXPECT_EQ(interval(with, "daly"), row.daly);
        EXPECT_EQ(interval(with, "availability"), row.availability);
        EXPECT_NEAR(100 * advise(without, "young")->lost_share, row.waste, 0.05);
    }
}

TEST(stage_checkpoint, counts_whole_steps) {
    const auto advice =
        advise({.write_seconds = 10, .mtbf_seconds = 6000, .restart_seconds = 600, .step_seconds = 15})
            .value();
    EXPECT_EQ(std::round(advice.interval_seconds), 363);
    EXPECT_EQ(advice.interval_steps, 24);
    EXPECT_EQ(advice.model, "restart");
    EXPECT_EQ(advise({.write_seconds = 10, .mtbf_seconds = 6000, .step_seconds = 1e6})->interval_steps, 1);
}

// 912 GB of a model with 70 billion parameters on 1,024 GPUs.
TEST(stage_checkpoint, of_a_large_model) {
    const double mtbf = mtbf_of(1024, kKnownFailures, kKnownDeviceHours);
    EXPECT_NEAR(mtbf / 3600, 49.5, 0.05);
    const auto fast = advise({.write_seconds = 9.12, .mtbf_seconds = mtbf}).value();
    EXPECT_NEAR(fast.interval_seconds / 60, 30, 0.1);
    EXPECT_NEAR(fast.lost_share, 0.010, 0.0005);
    const auto slow = advise({.write_seconds = 91.2, .mtbf_seconds = mtbf}).value();
    EXPECT_NEAR(slow.interval_seconds / 60, 95, 0.1);
    EXPECT_NEAR(slow.lost_share, 0.032, 0.0005);
}

TEST(stage_checkpoint, never_below_ten_writes) {
    const auto advice = advise({.write_seconds = 100, .mtbf_seconds = 300}).value();
    EXPECT_EQ(advice.interval_seconds, 1000);
    EXPECT_TRUE(advice.at_floor);
}

TEST(stage_checkpoint, wrong_input_is_said) {
    EXPECT_THAT(advise({.write_seconds = 0, .mtbf_seconds = 1}).error().message(),
                HasSubstr("--write-seconds 0: must be more than 0"));
    EXPECT_THAT(advise({.write_seconds = 1, .mtbf_seconds = NAN}).error().message(),
                HasSubstr("--mtbf-seconds"));
    EXPECT_THAT(advise({.write_seconds = 1, .mtbf_seconds = 1, .restart_seconds = -1}).error().message(),
                HasSubstr("--restart-seconds -1"));
    EXPECT_THAT(advise({.write_seconds = 1, .mtbf_seconds = 1}, "best").error().message(),
                HasSubstr("\"best\""));
}

}  // namespace
}  // namespace belay::stage
