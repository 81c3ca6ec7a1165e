#include "bench/analysis/statistics.h"

#include "bench/analysis/least_squares.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

namespace belay::bench {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(bench_statistics, means_and_deviations_are_those_worked_out_by_hand) {
    const double values[] = {2, 4, 4, 6};
    EXPECT_DOUBLE_EQ(mean_of(values).value(), 4);
    EXPECT_DOUBLE_EQ(deviation_of(values).value(), std::sqrt(8.0 / 3));
    const double rates[] = {1, 2, 4};  // 3 / (1 + 1/2 + 1/4)
    EXPECT_DOUBLE_EQ(harmonic_mean_of(rates).value(), 12.0 / 7);
    // Times 1, 1/2, 1/4: mean 7/12, variance ((5/12)^2 + (1/12)^2 + (4/12)^2) / 2 = 42/288.
    const double deviation = std::sqrt(42.0 / 288);
    EXPECT_NEAR(harmonic_deviation_of(rates).value(), 1 / (7.0 / 12 - deviation) - 12.0 / 7, 1e-12);
}

TEST(bench_statistics, above_zero_is_what_may_be_divided_by) {
    EXPECT_TRUE(above_zero(0.5));
    for (const std::optional<double> value :
         {std::optional<double>(), std::optional(0.0), std::optional(-1.0), std::optional(kNaN),
          std::optional(std::numeric_limits<double>::infinity())})
        EXPECT_FALSE(above_zero(value)) << value.value_or(0);
}

TEST(bench_statistics, what_cannot_be_computed_is_nothing) {
    EXPECT_FALSE(mean_of({}));
    EXPECT_FALSE(deviation_of(std::vector{1.0}));
    EXPECT_FALSE(mean_of(std::vector{1.0, kNaN}));
    EXPECT_FALSE(harmonic_mean_of(std::vector{1.0, 0.0}));
    EXPECT_FALSE(harmonic_deviation_of(std::vector{1.0, 1000.0}))
        << "the deviation of the times is larger than their mean";
    EXPECT_FALSE(mean_of(std::vector{1e308, 1e308, 1e308})) << "the sum is not finite";
}

TEST(bench_statistics, olympic_drops_the_fastest_and_the_slowest_of_n) {
    const double ten[] = {9, 1, 8, 2, 7, 3, 6, 4, 5, 10};
    EXPECT_EQ(olympic(ten, 10), (std::vector<size_t>{3, 5, 7, 8, 6, 4, 2, 0}));
    const double nine[] = {9, 1, 8, 2, 7, 3, 6, 4, 5};
    EXPECT_EQ(olympic(nine, 10), (std::vector<size_t>{3, 5, 7, 8, 6, 4, 2, 0}))
        << "the one that failed is the slowest";
    EXPECT_EQ(olympic(ten, 5), (std::vector<size_t>{3, 5, 7})) << "of more than N, the N fastest";
    const double four[] = {4, 3, 2, 1};
    EXPECT_EQ(olympic(four, 10), (std::vector<size_t>{2, 1})) << "of too few, both ends go";
    EXPECT_EQ(olympic(std::vector{2.0, 1.0}, 10), (std::vector<size_t>{1, 0}));
    EXPECT_EQ(olympic(std::vector{kNaN, 1.0, 2.0, 3.0}, 0), (std::vector<size_t>{2, 3}))
        << "what is not a number is the slowest";
    EXPECT_TRUE(olympic({}, 5).empty());
}

TEST(bench_statistics, components_of_a_known_ellipse_are_found) {
    // Four points along directions at 30 degrees, one deviation of 0.2 along it and 0.05 across.
    const double angle = std::numbers::pi / 6;
    std::vector<double> x;
    std::vector<double> y;
    auto add = [&](double along, double across) {
        x.push_back(std::pow(10.0, 1 + along * std::cos(angle) - across * std::sin(angle)));
        y.push_back(std::pow(10.0, 2 + along * std::sin(angle) + across * std::cos(angle)));
    };
    // Of +-a and +-b the sample variances are 2 a^2 / 3 and 2 b^2 / 3.
    const double a = 0.2 * std::sqrt(1.5);
    const double b = 0.05 * std::sqrt(1.5);
    add(a, 0);
    add(-a, 0);
    add(0, b);
    add(0, -b);
    const auto components = log_components(x, y);
    ASSERT_TRUE(components);
    EXPECT_NEAR(components->mean[0], 1, 1e-12);
    EXPECT_NEAR(components->mean[1], 2, 1e-12);
    EXPECT_NEAR(components->variance[0], 0.04, 1e-12);
    EXPECT_NEAR(components->variance[1], 0.0025, 1e-12);
    EXPECT_NEAR(components->direction[0][0], std::cos(angle), 1e-9);
    EXPECT_NEAR(components->direction[0][1], std::sin(angle), 1e-9);
    EXPECT_NEAR(components->first_share.value(), 0.04 / 0.0425, 1e-12);
    const double xx = 0.04 * 0.75 + 0.0025 * 0.25;
    const double yy = 0.04 * 0.25 + 0.0025 * 0.75;
    EXPECT_NEAR(components->correlation.value(),
                (0.04 - 0.0025) * std::cos(angle) * std::sin(angle) / std::sqrt(xx * yy), 1e-9);
    EXPECT_NEAR(components->half_axis_factors[0][0], std::pow(10.0, 0.2 * std::cos(angle)), 1e-9);
    const auto ellipse = ellipse_of(*components, 4);
    ASSERT_EQ(ellipse.size(), 5U);
    EXPECT_NEAR(std::log10(ellipse[0][0]), 1 + 0.2 * std::cos(angle), 1e-9);
    EXPECT_EQ(ellipse.front(), ellipse.back());
}

TEST(bench_statistics, components_of_few_or_equal_runs_say_what_is_missing) {
    std::string why;
    EXPECT_FALSE(log_components(std::vector{1.0}, std::vector{1.0}, &why));
    EXPECT_EQ(why, "at least two runs are needed");
    EXPECT_FALSE(log_components(std::vector{1.0, 0.0}, std::vector{1.0, 1.0}, &why));
    EXPECT_EQ(why, "a run has a value that is not above zero");
    const auto equal = log_components(std::vector{5.0, 5.0, 5.0}, std::vector{2.0, 2.0, 2.0}, &why);
    ASSERT_TRUE(equal);
    EXPECT_FALSE(equal->first_share);
    EXPECT_FALSE(equal->correlation);
    EXPECT_EQ(why, "the runs are equal");
    const auto line = log_components(std::vector{5.0, 6.0, 7.0}, std::vector{2.0, 2.0, 2.0});
    EXPECT_DOUBLE_EQ(line->first_share.value(), 1);
    EXPECT_FALSE(line->correlation) << "one of the two does not vary";
}

TEST(bench_least_squares, finds_coefficients_that_made_the_values) {
    std::vector<std::vector<double>> terms;
    std::vector<double> y;
    for (double n : {1.0, 2.0, 8.0, 64.0}) {
        terms.push_back({1, 1 / n, std::log2(n)});
        y.push_back(0.5 + 3 / n + 0.25 * std::log2(n));
    }
    const auto fitted = non_negative_fit(terms, y);
    ASSERT_TRUE(fitted);
    EXPECT_NEAR((*fitted)[0], 0.5, 1e-9);
    EXPECT_NEAR((*fitted)[1], 3, 1e-9);
    EXPECT_NEAR((*fitted)[2], 0.25, 1e-9);
}

TEST(bench_least_squares, no_coefficient_is_negative) {
    // y falls faster than 1/n: an unbounded fit would take a negative constant.
    const std::vector<std::vector<double>> terms = {{1, 1}, {1, 0.5}, {1, 0.25}};
    const auto fitted = non_negative_fit(terms, std::vector{1.0, 0.4, 0.1});
    ASSERT_TRUE(fitted);
    EXPECT_EQ((*fitted)[0], 0);
    EXPECT_GT((*fitted)[1], 0);
}

TEST(bench_least_squares, refuses_what_is_no_measurement) {
    EXPECT_FALSE(non_negative_fit({}, {}));
    EXPECT_FALSE(non_negative_fit(std::vector<std::vector<double>>{{1}}, std::vector{0.0}));
    EXPECT_FALSE(non_negative_fit(std::vector<std::vector<double>>{{kNaN}}, std::vector{1.0}));
    EXPECT_FALSE(non_negative_fit(std::vector<std::vector<double>>{{1}, {1, 2}}, std::vector{1.0, 1.0}));
    EXPECT_FALSE(straight_line(std::vector{1.0}, std::vector{kNaN}));
    const auto flat = straight_line(std::vector{1.0, 1.0}, std::vector{2.0, 4.0});
    EXPECT_DOUBLE_EQ(flat->a, 3);
    EXPECT_DOUBLE_EQ(flat->b, 0);
    const auto line = straight_line(std::vector{0.0, 1.0, 2.0}, std::vector{1.0, 3.0, 5.0});
    EXPECT_DOUBLE_EQ(line->a, 1);
    EXPECT_DOUBLE_EQ(line->b, 2);
}

}  // namespace
}  // namespace belay::bench
