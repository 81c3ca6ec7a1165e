#include "bench/synthetic/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace belay::bench {

namespace {

constexpr double kInversionLimit = 12;

// ln(k!): exact sums below 10, Stirling's series from there (error below 1e-10). std::lgamma writes a global
// variable.
double log_factorial(double k) {
    static const std::array<double, 10> small = [] {
        std::array<double, 10> sums{};
        for (size_t i = 2; i < sums.size(); ++i) sums[i] = sums[i - 1] + std::log(static_cast<double>(i));
        return sums;
    }();
    if (k < 10) return small[static_cast<size_t>(k)];
    double inverse = 1 / (k + 1);
    double square = inverse * inverse;
    return (k + 0.5) * std::log(k + 1) - (k + 1) + 0.5 * std::log(2 * std::numbers::pi) +
           inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
}

int64_t poisson_by_inversion(RandomStream& random, double mean) {
    double rest = random.next_uniform();
    double probability = std::exp(-mean);
    int64_t count = 0;
    // The bound is never met but for rounding at the far tail: P(count > 200) is below 1e-150 here.
    while (rest > probability && count < 200) {
        rest -= probability;
        ++count;
        probability *= mean / static_cast<double>(count);
    }
    return count;
}

int64_t poisson_by_rejection(RandomStream& random, double mean) {
    // Constants of PTRS, page 43 of the paper.
    const double b = 0.931 + 2.53 * std::sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double v_r = 0.9277 - 3.6224 / (b - 2);
    while (true) {
        double u = random.next_uniform() - 0.5;
        double v = random.next_uniform();
        double u_s = 0.5 - std::fabs(u);
        double k = std::floor((2 * a / u_s + b) * u + mean + 0.43);
        if (u_s >= 0.07 && v <= v_r) return static_cast<int64_t>(k);
        if (k < 0 || (u_s < 0.013 && v > u_s)) continue;
        double accept = std::log(v * inverse_alpha / (a / (u_s * u_s) + b));
        if (accept <= k * std::log(mean) - mean - log_factorial(k)) return static_cast<int64_t>(k);
    }
}

}  // namespace

uint32_t RandomStream::next_below(uint32_t bound) {
    uint64_t product = uint64_t{next_word()} * bound;
    if (static_cast<uint32_t>(product) < bound) {
        uint32_t threshold = -bound % bound;
        while (static_cast<uint32_t>(product) < threshold) product = uint64_t{next_word()} * bound;
    }
    return static_cast<uint32_t>(product >> 32);
}

std::pair<double, double> RandomStream::next_gaussians() {
    double radius = std::sqrt(-2 * std::log(next_uniform()));
    double angle = 2 * std::numbers::pi * next_uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
}

int64_t RandomStream::next_poisson(double mean) {
    return mean < kInversionLimit ? poisson_by_inversion(*this, mean) : poisson_by_rejection(*this, mean);
}

}  // namespace belay::bench
