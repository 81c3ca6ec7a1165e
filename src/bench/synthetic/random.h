// A stream of random numbers that is named rather than passed on: (seed, split, index, stream) says all.
#pragma once

#include "bench/synthetic/philox.h"

#include <cstdint>
#include <utility>

namespace belay::bench {

// What random numbers are drawn for. The values are part of the bytes of every data set: never renumber.
enum class Split : uint32_t { kTrain = 0, kEval = 1, kOrder = 2, kWeights = 3 };

class RandomStream {
  public:
    // `index` is the sample (or the epoch), `stream` the purpose within it. 2^34 words each.
    RandomStream(uint64_t seed, Split split, uint32_t index, uint32_t stream)
        : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
          counter_{0, stream, index, static_cast<uint32_t>(split)} {}

    uint32_t next_word() {
        if (used_ == 4) {
            words_ = philox4x32(counter_, key_);
            ++counter_[0];
            used_ = 0;
        }
        return words_[used_++];
    }

    // In (0, 1), never 0 or 1, so that its logarithm is finite: the middle of one of 2^52 cells.
    double next_uniform() {
        uint64_t high = next_word();
        uint64_t bits = (high << 32 | next_word()) >> 12;
        return (static_cast<double>(bits) + 0.5) * 0x1p-52;
    }

    // Even over [0, bound), bound > 0. Source: Lemire, "Fast random integer generation in an interval", 2019.
    uint32_t next_below(uint32_t bound);

    // Two independent numbers of mean 0 and variance 1 (Box and Muller, 1958).
    std::pair<double, double> next_gaussians();

    // A count of mean `mean` >= 0. By inversion below 12, else by transformed rejection with squeeze (PTRS):
    // Hörmann, "The transformed rejection method for generating Poisson random variables", 1993, which holds
    // from 10 on.
    int64_t next_poisson(double mean);

  private:
    PhiloxKey key_;
    PhiloxCounter counter_;
    PhiloxCounter words_{};
    uint32_t used_ = 4;
};

}  // namespace belay::bench
