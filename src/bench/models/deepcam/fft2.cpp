#include "bench/models/deepcam/fft2.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace belay::bench::deepcam {

namespace {

using Complex = std::complex<double>;

// std::complex multiplication checks for NaN.
inline Complex times(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

void combine_two(Complex* first, Complex* second, size_t count, Complex root) {
    for (size_t i = 0; i < count; ++i) {
        const Complex turned = times(second[i], root);
        second[i] = first[i] - turned;
        first[i] += turned;
    }
}

void combine_three(Complex* first, Complex* second, Complex* third, size_t count, Complex root,
                   Complex root_squared) {
    constexpr double kHalfRootOfThree = std::numbers::sqrt3 / 2;  // sin(2 pi / 3)
    for (size_t i = 0; i < count; ++i) {
        const Complex b = times(second[i], root), c = times(third[i], root_squared);
        const Complex sum = b + c, difference = kHalfRootOfThree * (b - c);
        const Complex middle = first[i] - 0.5 * sum;
        first[i] += sum;
        second[i] = {middle.real() - difference.imag(), middle.imag() + difference.real()};
        third[i] = {middle.real() + difference.imag(), middle.imag() - difference.real()};
    }
}

}  // namespace

Fft2::Fft2(size_t height, size_t width) : rows_{width, {}}, columns_{height, {}}, other_(height * width) {
    for (Axis* axis : {&rows_, &columns_})
        for (size_t j = 0; j < axis->length; ++j)
            axis->roots.push_back(std::polar(
                1.0, 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(axis->length)));
}

// Decimation in time, by the smallest factor that is left.
void Fft2::transform(const Axis& axis, const Complex* in, Complex* out, size_t length, size_t in_stride,
                     size_t inner) {
    if (length == 1) {
        std::copy_n(in, inner, out);
        return;
    }
    const size_t radix = length % 2 == 0 ? 2 : 3;
    const size_t part = length / radix;
    for (size_t i = 0; i < radix; ++i)
        transform(axis, in + i * in_stride * inner, out + i * part * inner, part, in_stride * radix, inner);
    const size_t step = axis.length / length;
    for (size_t k = 0; k < part; ++k) {
        Complex* first = out + k * inner;
        if (radix == 2)
            combine_two(first, first + part * inner, inner, axis.roots[k * step]);
        else
            combine_three(first, first + part * inner, first + 2 * part * inner, inner, axis.roots[k * step],
                          axis.roots[2 * k * step]);
    }
}

void Fft2::inverse(std::span<Complex> image) {
    const size_t width = rows_.length;
    for (size_t y = 0; y < columns_.length; ++y)
        transform(rows_, image.data() + y * width, other_.data() + y * width, width, 1, 1);
    transform(columns_, other_.data(), image.data(), columns_.length, 1, width);
}

}  // namespace belay::bench::deepcam
