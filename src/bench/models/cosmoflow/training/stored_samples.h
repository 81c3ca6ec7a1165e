// Universes in files, read whenever they are trained on: loose in a directory, or packed in tar shards.
#pragma once

#include "bench/models/cosmoflow/universe_file.h"
#include "bench/train/model.h"
#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

namespace belay::bench::cosmoflow {

// Batches are those of Samples.
class StoredSamples : public Data {
  public:
    // Reads the first sample of each split, so that a wrong directory is said at once. Errors: kBadInput,
    // kSystem.
    static core::Result<StoredSamples> open(const std::filesystem::path& directory, uint32_t side,
                                            const Share& share);

    core::Result<> load(Split split, std::span<const uint32_t> indices, Batch& batch) const override;

  private:
    // Writes the counts of a universe and returns its parameters.
    using Reader =
        std::function<core::Result<Parameters>(const std::string& name, std::span<int16_t> counts)>;
    StoredSamples(Reader read, uint32_t side);

    Reader read_;
    size_t values_per_sample_;
};

// All samples of a profile. Errors: kSystem, kNoSpace; kBadInput where the directory holds something else.
core::Result<> write_samples(const std::filesystem::path& directory, uint32_t side, uint64_t seed,
                             const Profile& profile, int threads);

}  // namespace belay::bench::cosmoflow
