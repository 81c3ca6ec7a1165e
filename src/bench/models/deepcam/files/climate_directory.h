// A directory of DeepCAM's own data: stats.h5, and the samples in train/ and validation/.
#pragma once

#include "bench/models/deepcam/files/hdf5_climate.h"
#include "bench/schedule/sample_list.h"
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

    const SampleList& samples() const { return samples_; }
    // May be called by several threads. Errors: those of SampleList::name() and read_hdf5_climate(); kSystem.
    core::Result<> read(Split split, uint32_t index, std::span<float> values, std::span<uint8_t> mask) const;

  private:
    ClimateDirectory(core::Directory directory, SampleList samples, const Shape& image, ChannelRanges ranges)
        : directory_(std::move(directory)),
          samples_(std::move(samples)),
          image_(image),
          ranges_(std::move(ranges)) {}

    core::Directory directory_;
    SampleList samples_;
    Shape image_;
    ChannelRanges ranges_;
};

}  // namespace belay::bench::deepcam
