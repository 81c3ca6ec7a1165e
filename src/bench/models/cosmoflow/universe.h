// Synthetic universes: log-normal density fields with four known parameters, counted as particles. They stand
// in for the N-body simulations of CosmoFlow, so that a network that reads the parameters back has truly
// learned.
//
// A universe is a function of (seed, split, index) alone: any rank makes any sample, in any order, with the
// same bytes (identical for one build; between CPU types up to the rounding of exp and log, which moves a
// count about never).
#pragma once

#include "bench/synthetic/fft.h"
#include "bench/synthetic/random.h"

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace belay::bench::cosmoflow {

inline constexpr size_t kChannels = 4;    // "redshifts", from late to early
inline constexpr size_t kParameters = 4;  // amplitude, slope, density, growth

using Parameters = std::array<float, kParameters>;  // each even over [-1, 1]

class UniverseGenerator {
  public:
    // `side`: cells per edge, a power of two.
    UniverseGenerator(size_t side, uint64_t seed);

    size_t values_per_universe() const { return kChannels * side_ * side_ * side_; }

    // The parameters that a universe is drawn with.
    Parameters parameters(Split split, uint32_t index) const;

    // Writes counts[channel][z][y][x] of values_per_universe() and returns the parameters:
    //   white noise -> Fourier -> times sqrt(P(k)), P = k^n exp(-(k/k_c)^2), n = -2 + 1.2 slope, k_c = 0.7 pi
    //   per cell, mean removed -> variance 1 times sigma, sigma = 0.8 + 0.3 amplitude -> g D_c = exp(-(1 +
    //   0.8 growth) c / 6), count = Poisson(4 * 2^density * exp(D_c g - D_c^2 sigma^2 / 2))
    Parameters make(Split split, uint32_t index, std::span<int16_t> counts);

    // The field g of the universe made last.
    std::span<const std::complex<double>> field() const { return field_; }

  private:
    void make_field(RandomStream random, double slope, double sigma);

    size_t side_;
    uint64_t seed_;
    Fft3 fft_;
    std::vector<uint16_t> squared_wave_number_;  // per cell, in units of (2 pi / side)^2
    std::vector<double> amplitude_;              // sqrt(P) by squared wave number
    std::vector<std::complex<double>> field_;
};

}  // namespace belay::bench::cosmoflow
