#include "bench/analysis/least_squares.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace belay::bench {

namespace {

constexpr size_t kMostTerms = 5;

// Gaussian elimination with partial pivoting of the normal equations; nothing where they are singular.
std::optional<std::vector<double>> solve(std::vector<std::vector<double>> matrix, std::vector<double> right) {
    const size_t size = right.size();
    double largest = 0;
    for (size_t i = 0; i < size; ++i) largest = std::max(largest, std::abs(matrix[i][i]));
    for (size_t column = 0; column < size; ++column) {
        size_t pivot = column;
        for (size_t row = column + 1; row < size; ++row)
            if (std::abs(matrix[row][column]) > std::abs(matrix[pivot][column])) pivot = row;
        constexpr double kSingular = 1e-11;
        if (!(std::abs(matrix[pivot][column]) > kSingular * largest)) return std::nullopt;
        std::swap(matrix[pivot], matrix[column]);
        std::swap(right[pivot], right[column]);
        for (size_t row = column + 1; row < size; ++row) {
            const double factor = matrix[row][column] / matrix[column][column];
            for (size_t k = column; k < size; ++k) matrix[row][k] -= factor * matrix[column][k];
            right[row] -= factor * right[column];
        }
    }
    std::vector<double> result(size);
    for (size_t row = size; row-- > 0;) {
        double rest = right[row];
        for (size_t k = row + 1; k < size; ++k) rest -= matrix[row][k] * result[k];
        result[row] = rest / matrix[row][row];
    }
    return result;
}

}  // namespace

std::optional<std::vector<double>> non_negative_fit(std::span<const std::vector<double>> terms,
                                                    std::span<const double> y) {
    if (y.empty() || terms.size() != y.size()) return std::nullopt;
    const size_t count = terms.front().size();
    if (count == 0 || count > kMostTerms) return std::nullopt;
    // Columns scaled to a length of 1: the terms may differ by orders of magnitude.
    std::vector<std::vector<double>> rows;
    std::vector<double> length(count, 0);
    for (size_t i = 0; i < y.size(); ++i) {
        if (terms[i].size() != count || !std::isfinite(y[i]) || !(y[i] > 0)) return std::nullopt;
        rows.push_back(terms[i]);
        for (size_t j = 0; j < count; ++j) {
            rows[i][j] /= y[i];
            if (!std::isfinite(rows[i][j])) return std::nullopt;
            length[j] = std::hypot(length[j], rows[i][j]);
        }
    }
    for (auto& row : rows)
        for (size_t j = 0; j < count; ++j)
            if (length[j] > 0) row[j] /= length[j];

    std::optional<std::vector<double>> best;
    double best_error = 0;
    for (uint32_t subset = 1; subset < (1U << count); ++subset) {
        std::vector<size_t> used;
        for (size_t j = 0; j < count; ++j)
            if (subset & (1U << j)) used.push_back(j);
        if (used.size() > y.size()) continue;
        std::vector<std::vector<double>> normal(used.size(), std::vector<double>(used.size(), 0));
        std::vector<double> right(used.size(), 0);
        for (const auto& row : rows)
            for (size_t a = 0; a < used.size(); ++a) {
                right[a] += row[used[a]];
                for (size_t b = 0; b < used.size(); ++b) normal[a][b] += row[used[a]] * row[used[b]];
            }
        const auto solution = solve(std::move(normal), std::move(right));
        if (!solution || std::ranges::any_of(*solution, [](double c) { return !(c >= 0); })) continue;
        double error = 0;
        for (const auto& row : rows) {
            double value = 0;
            for (size_t a = 0; a < used.size(); ++a) value += (*solution)[a] * row[used[a]];
            error += (value - 1) * (value - 1);
        }
        // Subsets with fewer terms come first: more terms must be worth more than rounding.
        constexpr double kRounding = 1e-12;
        if (best && error > best_error - kRounding) continue;
        best_error = error;
        best.emplace(count, 0.0);
        for (size_t a = 0; a < used.size(); ++a) (*best)[used[a]] = (*solution)[a] / length[used[a]];
    }
    return best;
}

std::optional<Straight> straight_line(std::span<const double> x, std::span<const double> y) {
    if (x.empty() || x.size() != y.size()) return std::nullopt;
    double x_mean = 0;
    double y_mean = 0;
    const auto count = static_cast<double>(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return std::nullopt;
        x_mean += x[i] / count;
        y_mean += y[i] / count;
    }
    double xx = 0;
    double xy = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - x_mean) * (x[i] - x_mean);
        xy += (x[i] - x_mean) * (y[i] - y_mean);
    }
    constexpr double kNothing = 1e-18;
    const double slope = xx > kNothing ? xy / xx : 0;
    return Straight{y_mean - slope * x_mean, slope};
}

}  // namespace belay::bench
