#include "findings/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace belay::findings {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

std::vector<double> random_values(uint32_t seed, size_t count) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(10, 2);
    std::vector<double> values(count);
    for (double& value : values) value = normal(random);
    return values;
}

TEST(findings_detect, medians_pass_over_what_is_missing) {
    EXPECT_EQ(median(std::vector<double>{3, kMissing, 1, 2}), 2);
    EXPECT_EQ(median(std::vector<double>{4, 1}), 2.5);
    EXPECT_TRUE(std::isnan(median(std::vector<double>{kMissing})));
    EXPECT_TRUE(std::isnan(variation(std::vector<double>{1})));
}

TEST(findings_detect, the_spread_of_normal_values_is_their_deviation_whatever_a_third_of_them_is) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
        std::vector<double> values = random_values(seed, 2000);
        EXPECT_NEAR(spread(values), 2, 0.25) << seed;
        double before = median(values);
        for (size_t i = 0; i < 300; ++i) values[i] = 1e9;
        EXPECT_NEAR(median(values), before, 1) << seed;
        EXPECT_LT(spread(values), 4) << seed;
    }
}

TEST(findings_detect, a_slope_is_found_among_wild_values) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
        std::vector<double> noise = random_values(seed, 500);
        std::vector<double> times(noise.size());
        std::vector<double> values(noise.size());
        for (size_t i = 0; i < noise.size(); ++i) {
            times[i] = static_cast<double>(i);
            values[i] = 0.5 * times[i] + noise[i];
        }
        for (size_t i = 0; i < values.size(); i += 7) values[i] = -1e6;
        EXPECT_NEAR(theil_sen(times, values), 0.5, 0.05) << seed;
    }
}

TEST(findings_detect, the_slope_shifts_and_scales_with_the_values) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
        std::vector<double> values = random_values(seed, 80);
        std::vector<double> times(values.size());
        for (size_t i = 0; i < times.size(); ++i) times[i] = static_cast<double>(i) * 3;
        double slope = theil_sen(times, values);
        std::vector<double> changed = values;
        for (double& value : changed) value = -2 * value + 1000;
        EXPECT_NEAR(theil_sen(times, changed), -2 * slope, 1e-9);
    }
}

TEST(findings_detect, bins_of_a_rise_rise) {
    std::vector<double> times;
    std::vector<double> values;
    for (int i = 0; i < 100; ++i) {
        times.push_back(i);
        values.push_back(i % 20 == 3 ? kMissing : i);
    }
    EXPECT_EQ(rising_share(bin_medians(times, values, 10)), 1);
    std::ranges::reverse(values);
    EXPECT_EQ(rising_share(bin_medians(times, values, 10)), 0);
    EXPECT_TRUE(std::isnan(rising_share(std::vector<double>{1})));
}

TEST(findings_detect, a_change_is_found_where_it_is) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
        std::vector<double> values = random_values(seed, 150);
        size_t at = 30 + seed * 4;
        for (size_t i = at; i < values.size(); ++i) values[i] += 15;
        ChangePoint change = change_point(values, 10);
        EXPECT_NEAR(static_cast<double>(change.index), static_cast<double>(at), 8) << seed;
        EXPECT_NEAR(change.after - change.before, 15, 1.5);
        EXPECT_GT(change.deviations, 4);
    }
}

TEST(findings_detect, noise_has_no_change) {
    for (uint32_t seed = 0; seed < 50; ++seed)
        EXPECT_LT(change_point(random_values(seed, 150), 10).deviations, 2) << seed;
    EXPECT_EQ(change_point(std::vector<double>(40, 1.0), 10).index, 0u);
    EXPECT_EQ(change_point(std::vector<double>(5, 1.0), 10).index, 0u);
}

TEST(findings_detect, a_period_is_found_under_noise) {
    std::vector<size_t> lags(132);
    std::iota(lags.begin(), lags.end(), 2);
    for (uint32_t seed = 0; seed < 20; ++seed) {
        std::vector<double> values = random_values(seed, 400);
        for (size_t i = 0; i < values.size(); ++i)
            if (i % 25 < 5) values[i] -= 20;
        EXPECT_EQ(strongest_period(values, lags) % 25, 0u) << seed;
        EXPECT_GT(autocorrelation(values, 25), 0.8);
        EXPECT_LT(autocorrelation(random_values(seed, 400), 25), 0.3);
    }
    EXPECT_EQ(strongest_period(std::vector<double>(50, 3.0), lags), 0u);
}

}  // namespace
}  // namespace belay::findings
