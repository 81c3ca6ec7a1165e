#include "bench/models/cosmoflow/profile.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

using testing::HasSubstr;

// By hand for the mini profile: 4 channels on 32³ cells, then halved by each stage.
TEST(bench, cosmoflow_counts_multiplications_and_additions) {
    const Profile mini = *profile_named("mini");
    double expected = 0;
    double side = 32;
    for (size_t stage = 1; stage < mini.channels.size(); ++stage, side /= 2)
        expected += 2 * 27 * side * side * side * mini.channels[stage - 1] * mini.channels[stage] *
                    (stage == 1 ? 2 : 3);
    const double features = mini.channels.back() * side * side * side;
    expected += 6 * (features * 128 + 128 * 64 + 64 * 4);
    EXPECT_EQ(flops_per_sample(mini), expected);
    EXPECT_GT(flops_per_sample(*profile_named("full")), 50 * expected);
}

TEST(bench, cosmoflow_parameter_counts_are_those_of_the_reference) {
    EXPECT_EQ(parameter_count(*profile_named("full")), 8'907'556);
    EXPECT_EQ(parameter_count(*profile_named("mini")), 147'740);
}

TEST(bench, cosmoflow_unknown_profile_names_the_nearest) {
    auto profile = profile_named("mimi");
    ASSERT_FALSE(profile);
    EXPECT_EQ(profile.error().exit_status(), 2);
    EXPECT_THAT(profile.error().render(), HasSubstr("did you mean \"mini\"?"));
}

TEST(bench, cosmoflow_mini_rate_warms_up_and_decays_twice) {
    Profile mini = *profile_named("mini");
    EXPECT_DOUBLE_EQ(learning_rate(mini, 8, 1), 0.0025);
    EXPECT_DOUBLE_EQ(learning_rate(mini, 8, 3), 0.0075);
    EXPECT_DOUBLE_EQ(learning_rate(mini, 8, 4), 0.01);
    EXPECT_DOUBLE_EQ(learning_rate(mini, 64, 4), 0.01) << "does not scale with the batch";
    EXPECT_DOUBLE_EQ(learning_rate(mini, 8, 12), 0.01);
    EXPECT_DOUBLE_EQ(learning_rate(mini, 8, 13), 0.0025);
    EXPECT_DOUBLE_EQ(learning_rate(mini, 8, 19), 0.000625);
}

TEST(bench, cosmoflow_full_rate_scales_with_the_batch) {
    Profile full = *profile_named("full");
    EXPECT_DOUBLE_EQ(learning_rate(full, 64, 1), 0.001);
    EXPECT_DOUBLE_EQ(learning_rate(full, 512, 1), 0.001);
    EXPECT_DOUBLE_EQ(learning_rate(full, 512, 3), 0.001 + 2 * 0.007 / 4);
    EXPECT_DOUBLE_EQ(learning_rate(full, 32, 1), 0.0005);
    EXPECT_DOUBLE_EQ(learning_rate(full, 512, 32), 0.008);
    EXPECT_DOUBLE_EQ(learning_rate(full, 512, 33), 0.002);
    EXPECT_DOUBLE_EQ(learning_rate(full, 512, 65), 0.001);
}

TEST(bench, cosmoflow_an_epoch_uses_every_sample_once) {
    std::set<uint32_t> seen;
    for (int place = 0; place < 8; ++place) {
        auto samples = samples_of_place(1, 3, place, 8, 64);
        EXPECT_EQ(samples.size(), 8u);
        for (uint32_t sample : samples) {
            EXPECT_EQ(sample % 8, static_cast<uint32_t>(place));
            seen.insert(sample);
        }
    }
    EXPECT_EQ(seen.size(), 64u);
    EXPECT_EQ(*seen.rbegin(), 63u);
}

TEST(bench, cosmoflow_order_depends_on_seed_epoch_and_place) {
    auto order = samples_of_place(1, 1, 0, 4, 400);
    EXPECT_EQ(order, samples_of_place(1, 1, 0, 4, 400));
    EXPECT_NE(order, samples_of_place(2, 1, 0, 4, 400));
    EXPECT_NE(order, samples_of_place(1, 2, 0, 4, 400));
    auto neighbour = samples_of_place(1, 1, 1, 4, 400);
    for (uint32_t& sample : neighbour) --sample;
    EXPECT_NE(order, neighbour) << "places of a batch are not shuffled alike";
    EXPECT_FALSE(std::ranges::is_sorted(order));
    EXPECT_EQ(samples_of_place(1, 1, 0, 8, 63).size(), 7u) << "what does not fill a batch is left out";
}

}  // namespace
}  // namespace belay::bench::cosmoflow
