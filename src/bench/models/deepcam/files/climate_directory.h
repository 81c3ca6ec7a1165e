// A directory of DeepCAM's own data: stats.h5, and the samples in train/ and validation/.
#pragma once

#include "bench/models/deepcam/files/hdf5_climate.h"
#include "bench/synthetic/random.h"
#include "core/directory.h"

#include <filesystem>
#include <string>
#include <vector>

namespace belay::bench::deepcam {

inline constexpr const char* kRangesName = "stats.h5";

class ClimateDirectory {
  public:
    // Whether it is such a directory: it has a stats.h5. Errors: kSystem.
    static core::Result<bool> is_at(const std::filesystem::path& path);
    // Errors: kBadInput where it is not, or has files of another kind; kSystem.
    static core::Result<ClimateDirectory> open(const std::filesystem::path& path, const Shape& image);

    // By their names in the directory, sorted: sample i is the i-th.
    const std::vector<std::string>& names(Split split) const {
        return split == Split::kTrain ? train_ : eval_;
    }
    // May be called by several threads. Errors: kBadInput also where there are not so many; kSystem.
    core::Result<> read(Split split, uint32_t index, std::span<float> values, std::span<uint8_t> mask) const;

  private:
    ClimateDirectory(core::Directory directory, const Shape& image)
        : directory_(std::move(directory)), image_(image) {}

    core::Directory directory_;
    Shape image_;
    ChannelRanges ranges_;
    std::vector<std::string> train_, eval_;
};

}  // namespace belay::bench::deepcam
