// What every model does with its samples: makes them on several threads, writes them as files, and reads such files, loose
// in a directory or packed in tar shards.
#pragma once

#include "bench/train/model.h"
#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

// Each of `threads` threads calls start() once and then what it returned, which may so have buffers of its own, for some of
// 0 to count - 1; each of these is given once. Errors: those of the calls; kSystem, ENOMEM.
core::Result<> on_threads(size_t count, int threads,
                          const std::function<std::function<core::Result<>(size_t)>()>& start);

// All samples of `profile` as files of `directory`: name(split, index) with the bytes that start()(split, index) makes.
// Errors: kSystem, kNoSpace; kBadInput where the directory holds something else.
core::Result<> write_sample_files(const std::filesystem::path& directory, const Profile& profile, int threads,
                                  std::string (*name)(Split split, uint32_t index),
                                  const std::function<std::function<std::string(Split, uint32_t)>()>& start);

class SampleFiles {
  public:
    // A directory with such files, or what "belay stage pack" made of it. Of a larger file than `most_bytes` one byte more
    // than that is read. Errors: kBadInput, kSystem.
    static core::Result<SampleFiles> open(const std::filesystem::path& directory, size_t most_bytes);

    // Calls use(bytes) with those of one file; its errors name the file. Errors: kBadInput, kSystem; those of use.
    core::Result<> read(const std::string& name,
                        const std::function<core::Result<>(std::string_view bytes)>& use) const;

  private:
    using Read = std::function<core::Result<>(const std::string& name,
                                              const std::function<core::Result<>(std::string_view)>& use)>;
    explicit SampleFiles(Read read) : read_(std::move(read)) {}

    Read read_;
};

// name(split, index) of all samples of a share. Errors: those of `name`.
core::Result<std::vector<std::string>> names_of_share(
    const Share& share, const std::function<core::Result<std::string>(Split split, uint32_t index)>& name);

// Loads the first sample of each split, so that a wrong directory is said at once.
core::Result<> load_first(const Data& data, const Share& share);

}  // namespace belay::bench
