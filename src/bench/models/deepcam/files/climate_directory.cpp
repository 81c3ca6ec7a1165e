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
    auto beneath = directory.enter(folder);
    if (!beneath) return std::unexpected(std::move(beneath.error()).hint(kHint));
    BELAY_TRY(all, beneath->list());
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

Result<ClimateDirectory> ClimateDirectory::open(const fs::path& path, const fs::path& listing,
                                                const Shape& image) {
    BELAY_TRY(directory, core::Directory::open(path));
    ClimateDirectory found(std::move(directory), listing, image);
    constexpr size_t kRangesLimit = 1 << 20;
    auto bytes = found.directory_.read_file(kRangesName, kRangesLimit);
    if (!bytes) return std::unexpected(std::move(bytes.error()).hint(kHint));
    BELAY_TRY(ranges, core::with_context(read_ranges(*bytes, image.channels), (path / kRangesName).string()));
    found.ranges_ = std::move(ranges);
    BELAY_TRY(listed, core::Directory::open(listing));
    BELAY_TRY(train, samples_beneath(listed, "train"));
    BELAY_TRY(eval, samples_beneath(listed, "validation"));
    found.train_ = std::move(train);
    found.eval_ = std::move(eval);
    return found;
}

Result<std::string> ClimateDirectory::name(Split split, uint32_t index) const {
    const auto& all = names(split);
    if (index < all.size()) return all[index];
    return core::bad_input("{} has {} samples to {}, and number {} is asked for", listing_.string(),
                           all.size(), split == Split::kTrain ? "train on" : "be judged by", index)
        .hint("take fewer with --train-samples and --eval-samples");
}

Result<> ClimateDirectory::read(Split split, uint32_t index, std::span<float> values,
                                std::span<uint8_t> mask) const {
    BELAY_TRY(its_name, name(split, index));
    BELAY_TRY(bytes, directory_.read_file(its_name, hdf5_climate_limit(image_)));
    return core::with_context(read_hdf5_climate(bytes, image_, ranges_, values, mask),
                              directory_.path_of(its_name).string());
}

}  // namespace belay::bench::deepcam
