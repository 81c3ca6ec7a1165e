#include "bench/analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace belay::bench {

namespace {

bool all_finite(std::span<const double> values) {
    return !values.empty() && std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

bool all_positive(std::span<const double> values) {
    return !values.empty() && std::ranges::all_of(values, above_zero);
}

std::optional<double> if_finite(double value) {
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::vector<double> inverses(std::span<const double> values) {
    std::vector<double> result;
    result.reserve(values.size());
    for (double value : values) result.push_back(1 / value);
    return result;
}

}  // namespace

bool above_zero(std::optional<double> value) {
    return value && std::isfinite(*value) && *value > 0;
}

std::optional<double> mean_of(std::span<const double> values) {
    if (!all_finite(values)) return std::nullopt;
    return if_finite(std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()));
}

std::optional<double> deviation_of(std::span<const double> values) {
    const auto mean = mean_of(values);
    if (!mean || values.size() < 2) return std::nullopt;
    double squares = 0;
    for (double value : values) squares += (value - *mean) * (value - *mean);
    return if_finite(std::sqrt(squares / static_cast<double>(values.size() - 1)));
}

std::optional<double> harmonic_mean_of(std::span<const double> rates) {
    if (!all_positive(rates)) return std::nullopt;
    const auto mean_time = mean_of(inverses(rates));
    return mean_time ? if_finite(1 / *mean_time) : std::nullopt;
}

std::optional<double> harmonic_deviation_of(std::span<const double> rates) {
    const auto rate = harmonic_mean_of(rates);
    if (!rate) return std::nullopt;
    const auto deviation = deviation_of(inverses(rates));
    if (!deviation || !(*deviation < 1 / *rate)) return std::nullopt;
    return if_finite(1 / (1 / *rate - *deviation) - *rate);
}

Spread spread_of(std::span<const double> values) {
    return {mean_of(values), deviation_of(values)};
}

Spread harmonic_spread_of(std::span<const double> rates) {
    return {harmonic_mean_of(rates), harmonic_deviation_of(rates)};
}

std::vector<size_t> olympic(std::span<const double> seconds, size_t wanted) {
    std::vector<size_t> order(seconds.size());
    std::iota(order.begin(), order.end(), size_t{0});
    // What is not a number would make the order undefined: it goes last.
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
        const bool a_known = std::isfinite(seconds[a]);
        const bool b_known = std::isfinite(seconds[b]);
        return a_known && b_known ? seconds[a] < seconds[b] : a_known && !b_known;
    });
    if (order.size() < 3) return order;
    const bool complete = wanted > 2 && order.size() + 1 >= wanted;
    order.erase(order.begin());
    order.resize(complete ? wanted - 2 : order.size() - 1);
    return order;
}

std::optional<LogComponents> log_components(std::span<const double> x, std::span<const double> y,
                                            std::string* why) {
    auto missing = [&](std::string_view reason) -> std::optional<LogComponents> {
        if (why) *why = reason;
        return std::nullopt;
    };
    if (x.size() != y.size() || x.size() < 2) return missing("at least two runs are needed");
    if (!all_positive(x) || !all_positive(y)) return missing("a run has a value that is not above zero");
    LogComponents result;
    const auto count = static_cast<double>(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        result.mean[0] += std::log10(x[i]) / count;
        result.mean[1] += std::log10(y[i]) / count;
    }
    auto& [xx, xy, yy] = result.covariance;
    for (size_t i = 0; i < x.size(); ++i) {
        const double dx = std::log10(x[i]) - result.mean[0];
        const double dy = std::log10(y[i]) - result.mean[1];
        xx += dx * dx / (count - 1);
        xy += dx * dy / (count - 1);
        yy += dy * dy / (count - 1);
    }
    // Of a symmetric 2x2 matrix: half the trace, plus and minus the root of the discriminant; the first direction is at half
    // the angle of (xx - yy, 2 xy).
    const double half = (xx + yy) / 2;
    const double root = std::hypot((xx - yy) / 2, xy);
    result.variance = {half + root, std::max(0.0, half - root)};
    const double angle = std::atan2(2 * xy, xx - yy) / 2;
    result.direction[0] = {std::cos(angle), std::sin(angle)};
    result.direction[1] = {-std::sin(angle), std::cos(angle)};
    // Equal runs differ by rounding only.
    constexpr double kNothing = 1e-24;
    if (result.variance[0] > kNothing)
        result.first_share = result.variance[0] / (result.variance[0] + result.variance[1]);
    if (xx > kNothing && yy > kNothing) result.correlation = std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
    for (size_t i = 0; i < 2; ++i)
        for (size_t axis = 0; axis < 2; ++axis)
            result.half_axis_factors[i][axis] =
                std::pow(10.0, std::sqrt(result.variance[i]) * result.direction[i][axis]);
    if (!result.first_share && why) *why = "the runs are equal";
    return result;
}

std::vector<std::array<double, 2>> ellipse_of(const LogComponents& components, size_t points) {
    std::vector<std::array<double, 2>> result;
    if (points < 3) return result;
    for (size_t i = 0; i <= points; ++i) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(i % points) / static_cast<double>(points);
        const double along = std::sqrt(components.variance[0]) * std::cos(angle);
        const double across = std::sqrt(components.variance[1]) * std::sin(angle);
        std::array<double, 2> point{};
        for (size_t axis = 0; axis < 2; ++axis)
            point[axis] = std::pow(10.0, components.mean[axis] + along * components.direction[0][axis] +
                                             across * components.direction[1][axis]);
        result.push_back(point);
    }
    return result;
}

}  // namespace belay::bench
