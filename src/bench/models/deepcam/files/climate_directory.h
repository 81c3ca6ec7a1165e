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
    // The names of samples are those of `listing`; the files lie in `path`, which may have only some of them. Errors: kBadInput
    // where it is not such a directory, or has files of another kind; kSystem.
    static core::Result<ClimateDirectory> open(const std::filesystem::path& path,
                                               const std::filesystem::path& listing, const Shape& image);

    // By their names in the directory, sorted: sample i is the i-th.
    const std::vector<std::string>& names(Split split) const {
        return split == Split::kTrain ? train_ : eval_;
    }
    // Errors: kBadInput where there are not so many.
    core::Result<std::string> name(Split split, uint32_t index) const;
    // May be called by several threads. Errors: those of name() and read_hdf5_climate(); kSystem.
    core::Result<> read(Split split, uint32_t index, std::span<float> values, std::span<uint8_t> mask) const;

  private:
    ClimateDirectory(core::Directory directory, std::filesystem::path listing, const Shape& image)
        : directory_(std::move(directory)), listing_(std::move(listing)), image_(image) {}

    core::Directory directory_;
    std::filesystem::path listing_;  // for messages
    Shape image_;
    ChannelRanges ranges_;
    std::vector<std::string> train_, eval_;
};

}  // namespace belay::bench::deepcam
