// The structures that one rank trains and is judged on: generated at the start and kept in memory, or read whenever
// they are needed, from files of ours (loose, or packed in tar shards) or from OC20's own.
#pragma once

#include "bench/models/oc20/profile.h"
#include "bench/models/oc20/structure.h"
#include "bench/train/model.h"
#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace belay::bench::oc20 {

// Batches are laid out as layout.h says.
class Samples : public Data {
  public:
    // Makes the samples of `share` with `threads` threads. Errors: kSystem, ENOMEM where they find no room.
    static core::Result<Samples> make(const Size& size, uint64_t seed, const Share& share, int threads);
    // Reads train/*.lmdb and eval/*.lmdb where there are such files, else what write_samples() wrote, and the first
    // sample of each split, so that a wrong directory is said at once. Errors: kBadInput, kSystem.
    static core::Result<Samples> open(const Size& size, const std::filesystem::path& directory,
                                      const Share& share);

    core::Result<> load(Split split, std::span<const uint32_t> indices, Batch& batch) const override;

  private:
    using Reader = std::function<core::Result<Structure>(Split split, uint32_t index)>;
    explicit Samples(Reader read) : read_(std::move(read)) {}

    Reader read_;
};

// As Model::files_of(): nothing where there are *.lmdb files, each of which has structures of every share. Errors: kSystem.
core::Result<std::vector<std::string>> files_of_share(const std::filesystem::path& directory,
                                                      const Share& share);

// All samples of a profile as files. Errors: kSystem, kNoSpace; kBadInput where the directory holds something else.
core::Result<> write_samples(const std::filesystem::path& directory, const Size& size, uint64_t seed,
                             const Profile& profile, int threads);

}  // namespace belay::bench::oc20
