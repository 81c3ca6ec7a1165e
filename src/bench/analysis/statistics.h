// Statistics of repeated runs, as the joint analysis of MLPerf HPC v0.7 made them (lukasgd/mlperf_hpc_results_v0.7_visualization).
//
// What cannot be computed (too few values, a value that is not finite, a division by zero) is nothing.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belay::bench {

// Finite, and more than 0: what may be divided by, or have a logarithm.
bool above_zero(std::optional<double> value);

std::optional<double> mean_of(std::span<const double> values);

// Sample standard deviation (n - 1); nothing for one value.
std::optional<double> deviation_of(std::span<const double> values);

// n / sum(1/x): what rates are averaged with. Nothing unless every value is above zero.
std::optional<double> harmonic_mean_of(std::span<const double> rates);

// 1 / (1/h - std(1/x)) - h, h the harmonic mean: how much faster a run is that takes one deviation less time.
// Nothing where the deviation is not smaller than the mean time.
std::optional<double> harmonic_deviation_of(std::span<const double> rates);

// A mean and its deviation over runs; both nothing where no run has the quantity.
struct Spread {
    std::optional<double> mean, deviation;
};
Spread spread_of(std::span<const double> values);
Spread harmonic_spread_of(std::span<const double> rates);

// Positions in `seconds` of the runs that count: sorted by time, without the fastest and the slowest of the `wanted` (N of
// the benchmark). One run that is missing is the slowest; of more than N, those beyond the first N - 1 are left out.
// Where more are missing, the result has no official score: the fastest and the slowest of the runs at hand are dropped,
// and of fewer than three none.
std::vector<size_t> olympic(std::span<const double> seconds, size_t wanted);

// How the logarithms of two positive quantities vary together: the principal components of their sample covariance.
struct LogComponents {
    std::array<double, 2> mean{};                      // log10
    std::array<double, 3> covariance{};                // xx, xy, yy
    std::array<double, 2> variance{};                  // of the components, the larger first
    std::array<std::array<double, 2>, 2> direction{};  // unit vectors of the components
    std::optional<double> first_share;                 // variance[0] / (variance[0] + variance[1])
    std::optional<double> correlation;                 // nothing where x or y does not vary
    std::array<std::array<double, 2>, 2>
        half_axis_factors{};  // 10^(sqrt(variance) * direction): relative to the mean
};

// `why` says what is missing where the answer is nothing.
std::optional<LogComponents> log_components(std::span<const double> x, std::span<const double> y,
                                            std::string* why = nullptr);

// Points on the ellipse mean + sum of sqrt(variance) * direction, as quantities (not logarithms); closed.
std::vector<std::array<double, 2>> ellipse_of(const LogComponents& components, size_t points);

}  // namespace belay::bench
