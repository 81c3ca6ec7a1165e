// The universes that one rank trains and is judged on, made at the start and kept in memory as counts.
#pragma once

#include "bench/models/cosmoflow/universe.h"
#include "bench/train/model.h"
#include "core/error.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace belay::bench::cosmoflow {

// A batch's inputs are [samples][kChannels][side][side][side], logarithms of counts; its targets
// [samples][kParameters].
class Samples : public Data {
  public:
    // Makes the samples of `share` with `threads` threads. Errors: kSystem, ENOMEM where they find no room.
    static core::Result<Samples> make(int side, uint64_t seed, const Share& share, int threads);

    core::Result<> load(Split split, std::span<const uint32_t> indices, Batch& batch) const override;

  private:
    // Those of one split.
    struct Store {
        std::vector<int16_t> counts;
        std::vector<Parameters> targets;
        std::unordered_map<uint32_t, size_t> places;
    };
    Samples(int side, uint64_t seed);
    core::Result<Store> make_split(Split split, const std::vector<uint32_t>& indices, int threads) const;

    int side_;
    uint64_t seed_;
    size_t values_per_sample_;
    Store train_, eval_;
};

}  // namespace belay::bench::cosmoflow
