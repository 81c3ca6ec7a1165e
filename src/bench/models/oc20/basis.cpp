#include "bench/models/oc20/basis.h"

#include "bench/models/oc20/profile.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace belay::bench::oc20 {

namespace {

// Below it the power series loses less than three digits, and from there on the recurrence upwards is stable for
// the orders in use (Abramowitz and Stegun, 10.1.2 and 10.1.19).
constexpr double kSeriesLimit = 8;

double bessel_by_series(size_t order, double x) {
    double term = 1;
    for (size_t i = 1; i <= order; ++i) term *= x / static_cast<double>(2 * i + 1);
    double sum = 0;
    for (size_t k = 0; k < 60; ++k) {
        sum += term;
        if (std::fabs(term) <= 1e-18 * std::fabs(sum)) break;
        term *= -x * x / static_cast<double>(2 * (k + 1) * (2 * (order + k) + 3));
    }
    return sum;
}

// values[order] and values[order + 1]; below the limit the others are left as they are.
void bessel_pair(size_t order, double x, std::span<double> values) {
    if (x >= kSeriesLimit) return spherical_bessel(x, values.first(order + 2));
    values[order] = bessel_by_series(order, x);
    values[order + 1] = bessel_by_series(order + 1, x);
}

double bessel(size_t order, double x) {
    std::vector<double> values(order + 1);
    spherical_bessel(x, values);
    return values[order];
}

double zero_between(size_t order, double low, double high) {
    const bool rises = bessel(order, low) < 0;
    for (int i = 0; i < 100; ++i) {
        const double middle = 0.5 * (low + high);
        ((bessel(order, middle) < 0) == rises ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

}  // namespace

void spherical_bessel(double x, std::span<double> values) {
    for (size_t order = 0; order < values.size(); ++order) {
        if (x < kSeriesLimit)
            values[order] = bessel_by_series(order, x);
        else if (order == 0)
            values[order] = std::sin(x) / x;
        else if (order == 1)
            values[order] = std::sin(x) / (x * x) - std::cos(x) / x;
        else
            values[order] = static_cast<double>(2 * order - 1) / x * values[order - 1] - values[order - 2];
    }
}

std::vector<std::vector<double>> bessel_zeros(int orders, int count) {
    // Between two zeros of j_l lies one of j_(l+1): so each order starts with one zero more than the next.
    std::vector<double> zeros;
    for (int n = 1; n < count + orders; ++n) zeros.push_back(n * std::numbers::pi);
    std::vector<std::vector<double>> all;
    for (int order = 0; order < orders; ++order) {
        all.emplace_back(zeros.begin(), zeros.begin() + count);
        std::vector<double> next;
        for (size_t n = 0; n + 1 < zeros.size(); ++n)
            next.push_back(zero_between(static_cast<size_t>(order) + 1, zeros[n], zeros[n + 1]));
        zeros = std::move(next);
    }
    return all;
}

Envelope::Envelope(int exponent)
    : p(exponent + 1), a(-(p + 1) * (p + 2) / 2), b(p * (p + 2)), c(-p * (p + 1) / 2) {}

Value Envelope::at(double x) const {
    const double power = std::pow(x, p - 2);
    return {.value = 1 / x + power * x * (a + x * (b + x * c)),
            .slope = -1 / (x * x) + power * (a * (p - 1) + x * (b * p + x * c * (p + 1)))};
}

SphericalBasis::SphericalBasis(double cutoff, int orders, int numbers)
    : cutoff_(cutoff),
      orders_(orders),
      numbers_(numbers),
      envelope_(kEnvelopeExponent),
      zeros_(bessel_zeros(orders, numbers)) {
    for (int order = 0; order < orders; ++order) {
        norms_.emplace_back();
        for (double zero : zeros_[static_cast<size_t>(order)])
            norms_.back().push_back(std::numbers::sqrt2 /
                                    std::fabs(bessel(static_cast<size_t>(order) + 1, zero)));
    }
}

void SphericalBasis::radial(double distance, std::span<double> values, std::span<double> slopes) const {
    const double x = distance / cutoff_;
    const auto [envelope, envelope_slope] = envelope_.at(x);
    std::vector<double> bessels(zeros_.size() + 1);
    size_t place = 0;
    for (size_t order = 0; order < zeros_.size(); ++order)
        for (size_t number = 0; number < zeros_[order].size(); ++number, ++place) {
            const double zero = zeros_[order][number], norm = norms_[order][number], y = zero * x;
            bessel_pair(order, y, bessels);
            const double slope = static_cast<double>(order) / y * bessels[order] - bessels[order + 1];
            values[place] = envelope * norm * bessels[order];
            slopes[place] = norm * (envelope_slope * bessels[order] + envelope * zero * slope) / cutoff_;
        }
}

void SphericalBasis::angular(double cosine, std::span<double> values, std::span<double> slopes) const {
    double value = 1, slope = 0, value_before = 0, slope_before = 0;
    for (size_t order = 0; order < static_cast<size_t>(orders_); ++order) {
        const auto l = static_cast<double>(order);
        const double norm = std::sqrt((2 * l + 1) / (4 * std::numbers::pi));
        values[order] = norm * value;
        slopes[order] = norm * slope;
        // (l+1) P_(l+1) = (2l+1) x P_l - l P_(l-1);  P'_(l+1) = P'_(l-1) + (2l+1) P_l
        const double next = ((2 * l + 1) * cosine * value - l * value_before) / (l + 1);
        const double next_slope = slope_before + (2 * l + 1) * value;
        value_before = std::exchange(value, next);
        slope_before = std::exchange(slope, next_slope);
    }
}

}  // namespace belay::bench::oc20
