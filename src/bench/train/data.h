// The samples that one rank trains and is judged on, made at the start and kept in memory as counts.
#pragma once

#include "bench/models/cosmoflow/universe.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace belay::bench::cosmoflow {

class SampleStore {
  public:
    // Makes the samples `indices` of `split` with `threads` threads.
    SampleStore(int side, uint64_t seed, Split split, std::vector<uint32_t> indices, int threads);

    size_t size() const { return targets_.size(); }
    size_t values_per_sample() const { return values_per_sample_; }
    const std::vector<uint32_t>& indices() const { return indices_; }

    // Writes the logarithms of the counts of sample `index`, one of indices(), and returns its parameters.
    const Parameters& load(uint32_t index, std::span<float> input) const;

  private:
    std::vector<uint32_t> indices_;
    size_t values_per_sample_;
    std::vector<int16_t> counts_;
    std::vector<Parameters> targets_;
    std::unordered_map<uint32_t, size_t> places_;
};

}  // namespace belay::bench::cosmoflow
