#include "bench/models/deepcam/files/climate_directory.h"

namespace belay::bench::deepcam {

namespace {

namespace fs = std::filesystem;
using core::Result;

constexpr const char* kHint =
    "it needs stats.h5, train/ and validation/ with data-*.h5, as the data of MLPerf HPC have them";

// Those that end in .h5, which is what the reference looks at.
Result<std::vector<std::string>> pick_climates(std::vector<std::string> names) {
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".h5"); });
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
    constexpr size_t kRangesLimit = 1 << 20;
    auto bytes = directory.read_file(kRangesName, kRangesLimit);
    if (!bytes) return std::unexpected(std::move(bytes.error()).hint(kHint));
    BELAY_TRY(ranges, core::with_context(read_ranges(*bytes, image.channels), (path / kRangesName).string()));
    BELAY_TRY(samples, SampleList::read(listing, pick_climates, kHint));
    return ClimateDirectory(std::move(directory), std::move(samples), image, std::move(ranges));
}

Result<> ClimateDirectory::read(Split split, uint32_t index, std::span<float> values,
                                std::span<uint8_t> mask) const {
    BELAY_TRY(its_name, samples_.name(split, index));
    BELAY_TRY(bytes, directory_.read_file(its_name, hdf5_climate_limit(image_)));
    return core::with_context(read_hdf5_climate(bytes, image_, ranges_, values, mask),
                              directory_.path_of(its_name).string());
}

}  // namespace belay::bench::deepcam
