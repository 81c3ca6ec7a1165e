#include "score/companion.h"

#include "score/window_block.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace belay::score {
namespace {

std::vector<Stretch> seconds_of(int count, double saturation) {
    return std::vector<Stretch>(static_cast<size_t>(count), {1, saturation});
}

std::vector<Stretch> operator+(std::vector<Stretch> first, const std::vector<Stretch>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

TEST(score, example_10_the_start_counts_but_stands_apart) {
    auto job = seconds_of(20, 0) + seconds_of(80, 0.75);
    EXPECT_NEAR(steady_score(job, 0), 60, 1e-9);
    EXPECT_EQ(startup_seconds(job), 20);
    EXPECT_NEAR(steady_score(job, 20), 75, 1e-9);
    EXPECT_NEAR(steady_score(job, 10), 100 * 0.75 * 80 / 90, 1e-9);
    EXPECT_TRUE(std::isnan(steady_score(job, 100)));
}

TEST(score, a_short_burst_is_no_start) {
    auto job = seconds_of(10, 0) + seconds_of(20, 0.8) + seconds_of(15, 0.1) + seconds_of(60, 0.8);
    EXPECT_EQ(startup_seconds(job), 45);
    EXPECT_EQ(startup_seconds(seconds_of(100, 0)), std::nullopt);
    EXPECT_EQ(startup_seconds(seconds_of(20, 0.5)), std::nullopt) << "too short to tell";
    EXPECT_EQ(startup_seconds({}), std::nullopt);
}

TEST(score, example_15_imbalance) {
    EXPECT_NEAR(imbalance(std::array{0.8, 0.8, 0.8, 0.4}), 0.125, 1e-12);
    EXPECT_EQ(imbalance(std::array{0.5, 0.5}), 0);
    EXPECT_EQ(imbalance(std::array{0.0, 0.0}), 0);
    EXPECT_TRUE(std::isnan(imbalance({})));
}

TEST(score, example_18_energy) {
    EXPECT_DOUBLE_EQ(watt_hours(1'800'000), 0.5);
    EXPECT_DOUBLE_EQ(saturated_hours_per_kilowatt_hour(2 * 3600, 2 * 3.6e6), 1);
    EXPECT_TRUE(std::isnan(saturated_hours_per_kilowatt_hour(1, 0)));
}

TEST(score, example_19_flop_use_is_multiplied_in_each_window) {
    const BlockColumn seconds = {1, 1, 1};
    const BlockColumn uses = {flop_use(0.6, 1980e6, 1980e6), flop_use(0.3, 990e6, 1980e6),
                              flop_use(0.9, std::nan(""), 1980e6)};
    EXPECT_TRUE(std::isnan(WeightedSum().mean()));
    EXPECT_NEAR(add_known(uses, seconds, 3).mean(), 0.375, 1e-12);
}

TEST(score, example_20_burstiness) {
    auto bursts = burstiness(seconds_of(50, 0) + seconds_of(50, 0.8));
    EXPECT_NEAR(bursts.variation, 1, 1e-12);
    EXPECT_NEAR(bursts.index, 0, 1e-12);
    EXPECT_EQ(burstiness(seconds_of(9, 0.5)).index, -1);
    EXPECT_TRUE(std::isnan(burstiness(seconds_of(9, 0)).variation));
}

TEST(score, quantiles_weigh_time) {
    std::vector<Stretch> job = {{8, 0.5}, {1, 0.9}, {1, 0.1}};
    EXPECT_EQ(quantile(job, 0.1), 0.1);
    EXPECT_EQ(quantile(job, 0.5), 0.5);
    EXPECT_EQ(quantile(job, 0.9), 0.5);
    EXPECT_EQ(quantile(job, 0.91), 0.9);
    EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

TEST(score, seconds_count_by_what_was_observed_in_them) {
    // One GPU at .8 for 200 s, another observed in the last 100 s only, at .2.
    const std::vector<Stretch> job = {{100, 0.8, 0.5}, {100, 0.5, 1}};
    EXPECT_NEAR(steady_score(job, 0), 60, 1e-9);
}

TEST(score, a_start_up_does_not_end_with_what_was_not_seen) {
    std::vector<Stretch> job = {{100, 0.1}, {1, 0.8}, {40, std::nan("")}, {100, 0.1}};
    job = job + seconds_of(100, 0.8);
    EXPECT_EQ(startup_seconds(job), 241);
}

TEST(score, the_busiest_link_counts_by_its_own_bandwidth) {
    const std::vector<double> bandwidth = {100, 900, 0};
    EXPECT_DOUBLE_EQ(link_use(std::vector<double>{60, 450, 9000}, bandwidth), 0.6);
    EXPECT_DOUBLE_EQ(link_use(std::vector<double>{kMissing, 450, 1}, bandwidth), 0.5);
    EXPECT_DOUBLE_EQ(link_use(std::vector<double>{200, kMissing, 1}, bandwidth), 1);
    EXPECT_TRUE(std::isnan(link_use(std::vector<double>{kMissing, kMissing, 9000}, bandwidth)));
}

TEST(score, waiting_for_a_link) {
    EXPECT_TRUE(is_link_bound(0.29, 0.5));
    EXPECT_FALSE(is_link_bound(0.3, 0.9));
    EXPECT_FALSE(is_link_bound(0.1, 0.49));
}

}  // namespace
// A gap is time that passed, of which nothing is known.
TEST(score, companions_pass_over_gaps) {
    std::vector<Stretch> job = {{100, std::nan("")}, {20, 0.0}, {50, 0.8}, {10, std::nan("")}, {50, 0.8}};
    ASSERT_TRUE(startup_seconds(job));
    EXPECT_EQ(*startup_seconds(job), 120);
    EXPECT_NEAR(steady_score(job, 120), 80, 1e-9);
    EXPECT_NEAR(burstiness(std::vector<Stretch>{{10, 0.5}, {10, std::nan("")}, {10, 0.5}}).variation, 0,
                1e-9);
}

}  // namespace belay::score
