// Universes in files, read whenever they are trained on: those of write_samples(), loose in a directory or packed in tar shards,
// or CosmoFlow's own (files/universe_directory.h).
#pragma once

#include "bench/models/cosmoflow/universe.h"
#include "bench/train/model.h"
#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace belay::bench::cosmoflow {

// Batches are those of Samples.
class StoredSamples : public Data {
  public:
    // Of source.directory. Reads the first sample of each split, so that a wrong directory is said at once. Errors: kBadInput,
    // kSystem.
    static core::Result<StoredSamples> open(const DataSource& source, uint32_t side, const Share& share);

    core::Result<> load(Split split, std::span<const uint32_t> indices, Batch& batch) const override;

  private:
    using Read =
        std::function<core::Result<Parameters>(Split split, uint32_t index, std::span<int16_t> counts)>;
    StoredSamples(Read read, uint32_t side);
    static core::Result<Read> reader_of(const DataSource& source, uint32_t side);

    Read read_;
    size_t values_per_sample_;
};

// As Model::files_of(). Errors: kBadInput where the directory has not so many samples, or none; kSystem.
core::Result<std::vector<std::string>> files_of_share(const std::filesystem::path& directory, uint32_t side,
                                                      const Share& share);

// All samples of a profile. Errors: kSystem, kNoSpace; kBadInput where the directory holds something else.
core::Result<> write_samples(const std::filesystem::path& directory, uint32_t side, uint64_t seed,
                             const Profile& profile, int threads);

}  // namespace belay::bench::cosmoflow
