#include "bench/models/oc20/basis.h"

#include "bench/models/oc20/radial_table.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace belay::bench::oc20 {
namespace {

TEST(bench_oc20, spherical_bessel_functions_have_their_closed_forms) {
    for (double x : {0.3, 1.0, 3.7, 7.9, 8.1, 25.0}) {
        std::vector<double> j(4);
        spherical_bessel(x, j);
        const double s = std::sin(x), c = std::cos(x);
        EXPECT_NEAR(j[0], s / x, 1e-13) << x;
        EXPECT_NEAR(j[1], s / (x * x) - c / x, 1e-13) << x;
        EXPECT_NEAR(j[2], (3 / (x * x) - 1) * s / x - 3 * c / (x * x), 2e-13) << x;
        EXPECT_NEAR(j[3], (15 / (x * x * x) - 6 / x) * s / x - (15 / (x * x) - 1) * c / x, 3e-12) << x;
    }
    std::vector<double> small(7);
    spherical_bessel(0.01, small);
    EXPECT_NEAR(small[6] / (1e-12 / 135135), 1, 1e-5) << "x^6 / 13!!";
}

// Abramowitz and Stegun, table 10.6.
TEST(bench_oc20, zeros_of_bessel_functions_are_those_of_the_tables) {
    const auto zeros = bessel_zeros(7, 6);
    ASSERT_EQ(zeros.size(), 7u);
    EXPECT_NEAR(zeros[0][5], 6 * std::numbers::pi, 1e-12);
    EXPECT_NEAR(zeros[1][0], 4.493409, 1e-6);
    EXPECT_NEAR(zeros[1][1], 7.725252, 1e-6);
    EXPECT_NEAR(zeros[2][0], 5.763459, 1e-6);
    EXPECT_NEAR(zeros[3][0], 6.987932, 1e-6);
    EXPECT_NEAR(zeros[6][0], 10.512835, 1e-6);
    for (size_t order = 0; order < 7; ++order)
        for (double zero : zeros[order]) {
            std::vector<double> j(order + 1);
            spherical_bessel(zero, j);
            EXPECT_NEAR(j[order], 0, 1e-13) << order;
        }
}

TEST(bench_oc20, envelope_falls_to_zero_with_two_derivatives) {
    const Envelope envelope(5);
    EXPECT_NEAR(envelope.at(1).value, 0, 1e-12);
    EXPECT_NEAR(envelope.at(1).slope, 0, 1e-12);
    constexpr double h = 1e-5;
    EXPECT_NEAR((envelope.at(1).slope - envelope.at(1 - h).slope) / h, 0, 2e-3);
    const double x = 0.7;
    EXPECT_NEAR(envelope.at(x).value, 1 / x - 28 * std::pow(x, 5) + 48 * std::pow(x, 6) - 21 * std::pow(x, 7),
                1e-12);
    EXPECT_NEAR((envelope.at(x + h).value - envelope.at(x - h).value) / (2 * h), envelope.at(x).slope, 1e-8);
}

TEST(bench_oc20, angular_functions_are_legendre_polynomials) {
    const SphericalBasis basis(6, 7, 6);
    std::vector<double> values(7), slopes(7), above(7), below(7), ignored(7);
    for (double x : {-1.0, -0.4, 0.0, 0.83, 1.0}) {
        basis.angular(x, values, slopes);
        const double four_pi = 4 * std::numbers::pi;
        EXPECT_NEAR(values[0], std::sqrt(1 / four_pi), 1e-14);
        EXPECT_NEAR(values[1], std::sqrt(3 / four_pi) * x, 1e-14);
        EXPECT_NEAR(values[2], std::sqrt(5 / four_pi) * 0.5 * (3 * x * x - 1), 1e-14);
        EXPECT_NEAR(
            values[6],
            std::sqrt(13 / four_pi) / 16 * (231 * std::pow(x, 6) - 315 * std::pow(x, 4) + 105 * x * x - 5),
            1e-13);
        constexpr double h = 1e-6;
        basis.angular(x + h, above, ignored);
        basis.angular(x - h, below, ignored);
        for (size_t order = 0; order < 7; ++order)
            EXPECT_NEAR((above[order] - below[order]) / (2 * h), slopes[order], 1e-7) << x << " " << order;
    }
}

// The integral of x^2 (f / envelope)^2 from 0 to 1 is 1, and 0 of two different ones of an order.
TEST(bench_oc20, radial_functions_are_orthonormal_without_the_envelope) {
    const SphericalBasis basis(1, 4, 4);
    const Envelope envelope(5);
    std::vector<double> values(16), slopes(16);
    double products[4][4][4] = {};
    constexpr int kSteps = 4000;
    for (int i = 0; i < kSteps; ++i) {
        const double x = (i + 0.5) / kSteps;
        if (x > 0.9999) continue;  // where the envelope has no digits left
        basis.radial(x, values, slopes);
        const double factor = x / envelope.at(x).value;
        for (size_t l = 0; l < 4; ++l)
            for (size_t n = 0; n < 4; ++n)
                for (size_t m = 0; m < 4; ++m)
                    products[l][n][m] += factor * factor * values[4 * l + n] * values[4 * l + m] / kSteps;
    }
    for (auto& order : products)
        for (size_t n = 0; n < 4; ++n)
            for (size_t m = 0; m < 4; ++m) EXPECT_NEAR(order[n][m], n == m ? 1 : 0, 1e-3);
}

TEST(bench_oc20, radial_table_follows_the_exact_functions_and_their_slopes) {
    constexpr double kCutoff = 6;
    const SphericalBasis basis(kCutoff, 7, 6);
    const RadialTable table(basis, kCutoff);
    std::vector<double> exact(42), exact_slopes(42), values(42), slopes(42), above(42), below(42),
        ignored(42);
    double largest = 0, largest_slope = 0, error = 0, slope_error = 0;
    for (double distance = 0.6; distance <= kCutoff; distance += 0.0137) {
        basis.radial(distance, exact, exact_slopes);
        table.at(distance, values, slopes);
        for (size_t i = 0; i < 42; ++i) {
            largest = std::max(largest, std::fabs(exact[i]));
            largest_slope = std::max(largest_slope, std::fabs(exact_slopes[i]));
            error = std::max(error, std::fabs(values[i] - exact[i]));
            slope_error = std::max(slope_error, std::fabs(slopes[i] - exact_slopes[i]));
        }
    }
    EXPECT_LT(error, 1e-6 * largest);
    EXPECT_LT(slope_error, 1e-6 * largest_slope);
    constexpr double h = 1e-7;
    for (double distance : {0.05, 2.00002, 5.9}) {
        table.at(distance, values, slopes);
        table.at(distance + h, above, ignored);
        table.at(distance - h, below, ignored);
        for (size_t i = 0; i < 42; ++i)
            EXPECT_NEAR((above[i] - below[i]) / (2 * h), slopes[i], 1e-5 * (1 + std::fabs(slopes[i])))
                << distance;
    }
    table.at(kCutoff, values, slopes);
    for (size_t i = 0; i < 42; ++i) EXPECT_NEAR(values[i], 0, 1e-9);
}

}  // namespace
}  // namespace belay::bench::oc20
