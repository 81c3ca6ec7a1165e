#include "bench/models/deepcam/files/climate_directory.h"

namespace belay::bench::deepcam {

namespace {

namespace fs = std::filesystem;
using core::Result;

constexpr const char* kHint =
    "it needs stats.h5, train/ and validation/ with data-*.h5, as the data of MLPerf HPC have them";

// Those that end in .h5, which is what the reference looks at.
Result<std::vector<std::string>> samples_beneath(const core::Directory& directory,
                                                 const std::string& folder) {
    BELAY_TRY(beneath, directory.enter(folder));
    BELAY_TRY(all, beneath.list());
    std::vector<std::string> names;
    for (const std::string& name : all)
        if (name.ends_with(".h5")) names.push_back(folder + "/" + name);
    return names;
}

}  // namespace

Result<bool> ClimateDirectory::is_at(const fs::path& path) {
    BELAY_TRY(directory, core::Directory::open(path));
    BELAY_TRY(facts, directory.facts(kRangesName));
    return facts.has_value();
}

Result<ClimateDirectory> ClimateDirectory::open(const fs::path& path, const Shape& image) {
    BELAY_TRY(directory, core::Directory::open(path));
    ClimateDirectory found(std::move(directory), image);
    constexpr size_t kRangesLimit = 1 << 20;
    auto bytes = found.directory_.read_file(kRangesName, kRangesLimit);
    if (!bytes) return std::unexpected(std::move(bytes.error()).hint(kHint));
    BELAY_TRY(ranges, core::with_context(read_ranges(*bytes, image.channels), (path / kRangesName).string()));
    found.ranges_ = std::move(ranges);
    auto train = samples_beneath(found.directory_, "train");
    if (!train) return std::unexpected(std::move(train.error()).hint(kHint));
    auto eval = samples_beneath(found.directory_, "validation");
    if (!eval) return std::unexpected(std::move(eval.error()).hint(kHint));
    found.train_ = std::move(*train);
    found.eval_ = std::move(*eval);
    return found;
}

Result<> ClimateDirectory::read(Split split, uint32_t index, std::span<float> values,
                                std::span<uint8_t> mask) const {
    const auto& all = names(split);
    if (index >= all.size())
        return core::bad_input("{} has {} samples to {}, and number {} is asked for",
                               directory_.path().string(), all.size(),
                               split == Split::kTrain ? "train on" : "be judged by", index)
            .hint("take fewer with --train-samples and --eval-samples");
    BELAY_TRY(bytes, directory_.read_file(all[index], hdf5_climate_limit(image_)));
    return core::with_context(read_hdf5_climate(bytes, image_, ranges_, values, mask),
                              directory_.path_of(all[index]).string());
}

}  // namespace belay::bench::deepcam
