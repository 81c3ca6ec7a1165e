#include "bench/models/cosmoflow/profile.h"

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

using testing::HasSubstr;

// By hand for the mini profile: 4 channels on 32³ cells, then halved by each stage.
TEST(bench, cosmoflow_counts_multiplications_and_additions) {
    const Size mini = *size_named("mini");
    double expected = 0;
    double side = 32;
    for (size_t stage = 1; stage < mini.channels.size(); ++stage, side /= 2)
        expected += 2 * 27 * side * side * side * mini.channels[stage - 1] * mini.channels[stage] *
                    (stage == 1 ? 2 : 3);
    const double features = mini.channels.back() * side * side * side;
    expected += 6 * (features * 128 + 128 * 64 + 64 * 4);
    EXPECT_EQ(flops_per_sample(mini), expected);
    EXPECT_GT(flops_per_sample(*size_named("full")), 50 * expected);
}

TEST(bench, cosmoflow_parameter_counts_are_those_of_the_reference) {
    EXPECT_EQ(parameter_count(*size_named("full")), 8'907'556);
    EXPECT_EQ(parameter_count(*size_named("mini")), 147'740);
}

TEST(bench, cosmoflow_volume_splits_while_every_stage_can_halve_it) {
    EXPECT_TRUE(can_split(*size_named("mini"), 1));
    EXPECT_TRUE(can_split(*size_named("mini"), 2));
    EXPECT_FALSE(can_split(*size_named("mini"), 3));
    EXPECT_FALSE(can_split(*size_named("mini"), 4)) << "four stages want 16 planes or more";
    EXPECT_TRUE(can_split(*size_named("full"), 4));
}

TEST(bench, cosmoflow_unknown_profile_names_the_nearest) {
    auto size = size_named("mimi");
    ASSERT_FALSE(size);
    EXPECT_EQ(size.error().exit_status(), 2);
    EXPECT_THAT(size.error().render(), HasSubstr("did you mean \"mini\"?"));
}

}  // namespace
}  // namespace belay::bench::cosmoflow
