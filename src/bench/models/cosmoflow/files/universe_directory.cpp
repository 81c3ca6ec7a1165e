#include "bench/models/cosmoflow/files/universe_directory.h"

#include <algorithm>
#include <cerrno>

namespace belay::bench::cosmoflow {

namespace {

namespace fs = std::filesystem;
using core::bad_input;
using core::Result;

constexpr std::string_view kEnding = ".tfrecord", kPackedEnding = ".gz";

constexpr const char* kHint =
    "it needs train/ and validation/ with *.tfrecord, as the data of MLPerf HPC have them";

// Sorted by what stands before ".gz": packed or not, a sample has the same number.
Result<std::vector<std::string>> pick_records(std::vector<std::string> names) {
    std::erase_if(names, [](const std::string& name) { return !is_universe_record_name(name); });
    auto unpacked_name = [](const std::string& name) {
        return std::string_view(name).substr(
            0, name.size() - (name.ends_with(kPackedEnding) ? kPackedEnding.size() : 0));
    };
    std::ranges::sort(names, {}, unpacked_name);
    const auto twice = std::ranges::adjacent_find(names, {}, unpacked_name);
    if (twice != names.end())
        return bad_input("it has one sample twice: {} and {}", *twice, *(twice + 1))
            .hint("remove one of the two");
    return names;
}

}  // namespace

bool is_universe_record_name(std::string_view name) {
    if (name.ends_with(kPackedEnding)) name.remove_suffix(kPackedEnding.size());
    return name.ends_with(kEnding);
}

Result<UniverseDirectory> UniverseDirectory::open(const fs::path& path, const fs::path& listing,
                                                  uint32_t side) {
    BELAY_TRY(directory, core::Directory::open(path));
    BELAY_TRY(samples, SampleList::read(listing, pick_records, kHint));
    return UniverseDirectory(std::move(directory), std::move(samples), side);
}

Result<Parameters> UniverseDirectory::read(Split split, uint32_t index, std::span<int16_t> counts) const {
    BELAY_TRY(its_name, samples_.name(split, index));
    auto bytes = directory_.read_file(its_name, universe_record_limit(side_));
    if (!bytes && bytes.error().errno_value() == EFBIG)
        return std::unexpected(std::move(bytes.error()).hint(kSideHint));
    BELAY_CHECK(bytes);
    return core::with_context(decode_universe_record(*bytes, side_, counts),
                              directory_.path_of(its_name).string());
}

}  // namespace belay::bench::cosmoflow
