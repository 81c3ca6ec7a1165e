#include "bench/synthetic/fft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace belay::bench {

namespace {

// One radix-2 butterfly over two rows of `length` values: (a, b) -> (a + w b, a - w b). Written with real
// numbers since std::complex multiplication checks for NaN.
void butterfly_rows(double* a, double* b, size_t length, double w_real, double w_imaginary) {
    for (size_t i = 0; i < 2 * length; i += 2) {
        double real = b[i] * w_real - b[i + 1] * w_imaginary;
        double imaginary = b[i] * w_imaginary + b[i + 1] * w_real;
        b[i] = a[i] - real;
        b[i + 1] = a[i + 1] - imaginary;
        a[i] += real;
        a[i + 1] += imaginary;
    }
}

}  // namespace

Fft3::Fft3(size_t side) : side_(side), roots_(side / 2), reversed_(side) {
    for (size_t j = 0; j < side / 2; ++j)
        roots_[j] =
            std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(side));
    int bits = std::countr_zero(side);
    for (size_t j = 0; j < side; ++j)
        for (int bit = 0; bit < bits; ++bit) reversed_[j] |= (j >> bit & 1) << (bits - 1 - bit);
}

void Fft3::forward(std::span<std::complex<double>> cube) const {
    transform(cube, false);
}

void Fft3::inverse(std::span<std::complex<double>> cube) const {
    transform(cube, true);
    double factor = 1.0 / static_cast<double>(side_ * side_ * side_);
    for (auto& value : cube) value *= factor;
}

void Fft3::transform(std::span<std::complex<double>> cube, bool inverse) const {
    // One axis at a time; along it the cube is [outer][side][inner], and a butterfly acts on whole rows of
    // `inner`.
    for (size_t inner : {side_ * side_, side_, size_t{1}}) {
        for (size_t start = 0; start < cube.size(); start += side_ * inner) {
            std::complex<double>* block = cube.data() + start;
            for (size_t j = 0; j < side_; ++j)
                if (j < reversed_[j])
                    std::swap_ranges(block + j * inner, block + (j + 1) * inner,
                                     block + reversed_[j] * inner);
            for (size_t half = 1; half < side_; half *= 2)
                for (size_t group = 0; group < side_; group += 2 * half)
                    for (size_t j = 0; j < half; ++j) {
                        std::complex<double> root = roots_[j * (side_ / 2 / half)];
                        // The standard guarantees that a complex is an array of two doubles.
                        auto* rows = reinterpret_cast<double*>(block);
                        butterfly_rows(rows + 2 * (group + j) * inner, rows + 2 * (group + j + half) * inner,
                                       inner, root.real(), inverse ? -root.imag() : root.imag());
                    }
        }
    }
}

}  // namespace belay::bench
