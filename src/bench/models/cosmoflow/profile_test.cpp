#include "bench/models/cosmoflow/profile.h"

#include <span>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

using testing::HasSubstr;

// Of a layer: 2 for each weight and output, forward; backward as much again for its weights, and for its inputs where these
// are not the data.
TEST(bench, cosmoflow_counts_multiplications_and_additions) {
    constexpr double kForward[] = {2 * 27 * 4 * 8 * 32768.0,
                                   2 * 27 * 8 * 16 * 4096.0,
                                   2 * 27 * 16 * 32 * 512.0,
                                   2 * 27 * 32 * 64 * 64.0,
                                   2 * 512 * 128.0,
                                   2 * 128 * 64.0,
                                   2 * 64 * 4.0};
    double expected = 2 * kForward[0];
    for (const double layer : std::span(kForward).subspan(1)) expected += 3 * layer;
    EXPECT_EQ(flops_per_sample(*size_named("mini")), expected);
    EXPECT_EQ(flops_per_sample(*size_named("mini")), 262325760);
    EXPECT_EQ(flops_per_sample(*size_named("full")), 192090785280);
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
