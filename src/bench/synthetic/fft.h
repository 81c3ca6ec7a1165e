// The discrete Fourier transform of a cube, for power-of-two sides: all that the synthetic universes need of
// an FFT library.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace belay::bench {

class Fft3 {
  public:
    // `side` is a power of two, at least 2.
    explicit Fft3(size_t side);

    size_t side() const { return side_; }

    // In place over side^3 values in row-major order [z][y][x]. Forward has exp(-2 pi i k x / side) and no
    // factor; inverse has exp(+...) and divides by side^3.
    void forward(std::span<std::complex<double>> cube) const;
    void inverse(std::span<std::complex<double>> cube) const;

  private:
    void transform(std::span<std::complex<double>> cube, bool inverse) const;

    size_t side_;
    std::vector<std::complex<double>> roots_;  // exp(-2 pi i j / side), j < side / 2
    std::vector<size_t> reversed_;             // j with its bits in reverse order
};

}  // namespace belay::bench
