#include "bench/models/cosmoflow/files/universe_directory.h"

#include <algorithm>
#include <cerrno>

namespace belay::bench::cosmoflow {

namespace {

namespace fs = std::filesystem;
using core::bad_input;
using core::Result;

constexpr std::string_view kEnding = ".tfrecord", kPackedEnding = ".gz";

// Sorted by what stands before ".gz": packed or not, a sample has the same number.
Result<std::vector<std::string>> records_beneath(const core::Directory& directory,
                                                 const std::string& folder) {
    auto beneath = directory.enter(folder);
    if (!beneath)
        return std::unexpected(
            std::move(beneath.error())
                .hint("it needs train/ and validation/ with *.tfrecord, as the data of MLPerf "
                      "HPC have them"));
    BELAY_TRY(all, beneath->list());
    std::vector<std::string> names;
    for (const std::string& name : all)
        if (is_universe_record_name(name)) names.push_back(folder + "/" + name);
    auto unpacked_name = [](const std::string& name) {
        return std::string_view(name).substr(
            0, name.size() - (name.ends_with(kPackedEnding) ? kPackedEnding.size() : 0));
    };
    std::ranges::sort(names, {}, unpacked_name);
    const auto twice = std::ranges::adjacent_find(names, {}, unpacked_name);
    if (twice != names.end())
        return bad_input("{} has one sample twice: {} and {}", directory.path().string(), *twice,
                         *(twice + 1))
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
    UniverseDirectory found(std::move(directory), listing, side);
    BELAY_TRY(listed, core::Directory::open(listing));
    BELAY_TRY(train, records_beneath(listed, "train"));
    BELAY_TRY(eval, records_beneath(listed, "validation"));
    found.train_ = std::move(train);
    found.eval_ = std::move(eval);
    return found;
}

Result<std::string> UniverseDirectory::name(Split split, uint32_t index) const {
    const auto& all = names(split);
    if (index < all.size()) return all[index];
    return bad_input("{} has {} samples to {}, and number {} is asked for", listing_.string(), all.size(),
                     split == Split::kTrain ? "train on" : "be judged by", index)
        .hint("take fewer with --train-samples and --eval-samples");
}

Result<Parameters> UniverseDirectory::read(Split split, uint32_t index, std::span<int16_t> counts) const {
    BELAY_TRY(its_name, name(split, index));
    auto bytes = directory_.read_file(its_name, universe_record_limit(side_));
    if (!bytes && bytes.error().errno_value() == EFBIG)
        return std::unexpected(std::move(bytes.error()).hint(kSideHint));
    BELAY_CHECK(bytes);
    return core::with_context(decode_universe_record(*bytes, side_, counts),
                              directory_.path_of(its_name).string());
}

}  // namespace belay::bench::cosmoflow
