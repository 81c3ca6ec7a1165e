// The inverse discrete Fourier transform of an image whose sides have no prime factors but 2 and 3: those of
// DeepCAM's images (64 x 96, 768 x 1152).
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace belay::bench::deepcam {

class Fft2 {
  public:
    // Sides as above, at least 1.
    Fft2(size_t height, size_t width);

    // out[y][x] = sum over j, k of in[j][k] exp(2 pi i (j y / height + k x / width)): without a factor.
    void inverse(std::span<std::complex<double>> image);

  private:
    struct Axis {
        size_t length;
        std::vector<std::complex<double>> roots;  // exp(2 pi i j / length)
    };
    // `length` rows of `inner` values, `in_stride` rows apart, to as many that lie together.
    static void transform(const Axis& axis, const std::complex<double>* in, std::complex<double>* out,
                          size_t length, size_t in_stride, size_t inner);

    Axis rows_, columns_;
    std::vector<std::complex<double>> other_;
};

}  // namespace belay::bench::deepcam
