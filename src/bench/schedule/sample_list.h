// The samples of a benchmark's own data, one to a file in train/ and validation/: sample i is the i-th of the list.
#pragma once

#include "bench/synthetic/random.h"
#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace belay::bench {

class SampleList {
  public:
    // What of the sorted names of a folder, "train/a.h5", is a sample, in the order of the samples.
    using Pick = std::function<core::Result<std::vector<std::string>>(std::vector<std::string> names)>;
    // Errors: kSystem, with `hint`, where a folder cannot be listed; those of `pick`.
    static core::Result<SampleList> read(const std::filesystem::path& directory, const Pick& pick,
                                         const std::string& hint);

    const std::vector<std::string>& names(Split split) const {
        return split == Split::kTrain ? train_ : eval_;
    }
    // Errors: kBadInput where there are not so many.
    core::Result<std::string> name(Split split, uint32_t index) const;

  private:
    std::filesystem::path directory_;  // for messages
    std::vector<std::string> train_, eval_;
};

}  // namespace belay::bench
