// Universes in files, read whenever they are trained on: loose in a directory, or packed in tar shards.
#pragma once

#include "bench/models/cosmoflow/universe_file.h"
#include "bench/train/sample_files.h"
#include "core/error.h"

#include <cstdint>
#include <filesystem>
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
    StoredSamples(SampleFiles files, uint32_t side);

    SampleFiles files_;
    uint32_t side_;
    size_t values_per_sample_;
};

// All samples of a profile. Errors: kSystem, kNoSpace; kBadInput where the directory holds something else.
core::Result<> write_samples(const std::filesystem::path& directory, uint32_t side, uint64_t seed,
                             const Profile& profile, int threads);

}  // namespace belay::bench::cosmoflow
