// Least squares with few terms whose coefficients must not be negative, as costs are not.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace belay::bench {

// Minimises the sum of squared relative errors ((sum_j c_j x_ij - y_i) / y_i)^2 over c >= 0. `terms` holds one row of
// x per value of y. Every subset of the terms is solved (at most 5), and the best without a negative coefficient is
// taken: exact, and quick enough for what this is used for. Nothing where y is not above zero, or sizes differ.
std::optional<std::vector<double>> non_negative_fit(std::span<const std::vector<double>> terms,
                                                    std::span<const double> y);

// Ordinary least squares of y = a + b x; b is 0 where x does not vary. Nothing for no points, or what is not finite.
struct Straight {
    double a = 0, b = 0;
};
std::optional<Straight> straight_line(std::span<const double> x, std::span<const double> y);

}  // namespace belay::bench
