// Where the climates of a rank come from: made at the start and kept in memory, in files of ours, or in DeepCAM's own.
#pragma once

#include "bench/models/deepcam/profile.h"
#include "bench/train/model.h"
#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace belay::bench::deepcam {

// Of all of them, a batch's inputs are [samples][channels][y][x], its targets [samples][y][x], numbers of classes.

// Made with `threads` threads. Errors: kSystem, ENOMEM where they find no room.
core::Result<std::unique_ptr<Data>> make_samples(const Shape& image, uint64_t seed, const Share& share,
                                                 int threads);

// Of source.directory, read whenever they are trained on: DeepCAM's own (climate_directory.h), or what write_samples()
// wrote, loose or packed in tar shards. Reads the first sample of each split, so that a wrong directory is said at once.
// Errors: kBadInput, kSystem.
core::Result<std::unique_ptr<Data>> open_samples(const DataSource& source, const Shape& image,
                                                 const Share& share);

// As Model::files_of(). Errors: kBadInput where DeepCAM's own data have not so many samples; kSystem.
core::Result<std::vector<std::string>> files_of_share(const std::filesystem::path& directory,
                                                      const Shape& image, const Share& share);

// All samples of a profile. Errors: kSystem, kNoSpace; kBadInput where the directory holds something else.
core::Result<> write_samples(const std::filesystem::path& directory, const Shape& image, uint64_t seed,
                             const Profile& profile, int threads);

}  // namespace belay::bench::deepcam
