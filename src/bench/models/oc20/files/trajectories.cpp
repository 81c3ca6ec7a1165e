#include "bench/models/oc20/files/trajectories.h"

#include "bench/models/oc20/files/lmdb_file.h"
#include "bench/models/oc20/files/structure_pickle.h"
#include "core/directory.h"

#include <algorithm>
#include <string>
#include <utility>

namespace belay::bench::oc20 {

namespace fs = std::filesystem;
using core::bad_input;
using core::Result;

struct Trajectories::File {
    LmdbFile lmdb;
    fs::path path;
    uint64_t first = 0, count = 0;  // places in the list

    // Errors name the file.
    Result<std::string> value(const std::string& key) const {
        BELAY_TRY(found,
                  core::with_context(lmdb.find(key), fmt::format("{}: key \"{}\"", path.string(), key)));
        if (!found) return bad_input("{}: it has no key \"{}\"", path.string(), key);
        return std::move(*found);
    }
};

namespace {

constexpr std::string_view kEnding = ".lmdb";

Result<std::vector<std::string>> lmdb_files_in(const core::Directory& directory) {
    BELAY_TRY(names, directory.list());
    std::erase_if(names, [](const std::string& name) {
        return !name.ends_with(kEnding) || name.size() == kEnding.size();
    });
    return names;
}

Result<uint64_t> count_from(std::string_view pickle) {
    BELAY_TRY(count, integer_from_pickle(pickle));
    if (count < 0 || count > int64_t{1} << 40) return bad_input("{} is not a number of structures", count);
    return static_cast<uint64_t>(count);
}

}  // namespace

Trajectories::Trajectories(std::vector<File> files, uint64_t size) : files_(std::move(files)), size_(size) {}
Trajectories::Trajectories(Trajectories&&) noexcept = default;
Trajectories& Trajectories::operator=(Trajectories&&) noexcept = default;
Trajectories::~Trajectories() = default;

Result<bool> Trajectories::are_in(const fs::path& path) {
    auto directory = core::Directory::open(path);
    if (!directory && directory.error().cause() == core::Cause::kNotFound) return false;
    if (!directory) return std::unexpected(std::move(directory.error()));
    BELAY_TRY(names, lmdb_files_in(*directory));
    return !names.empty();
}

Result<Trajectories> Trajectories::open(const fs::path& path) {
    BELAY_TRY(directory, core::Directory::open(path));
    BELAY_TRY(names, lmdb_files_in(directory));
    std::vector<File> files;
    uint64_t size = 0;
    for (const std::string& name : names) {
        BELAY_TRY(lmdb, LmdbFile::open(directory, name));
        File file{.lmdb = std::move(lmdb), .path = directory.path_of(name), .first = size};
        BELAY_TRY(length, file.value("length"));
        BELAY_TRY(count, core::with_context(count_from(length),
                                            fmt::format("{}: key \"length\"", file.path.string())));
        file.count = count;
        size += count;
        files.push_back(std::move(file));
    }
    if (files.empty())
        return bad_input("{} has no .lmdb files", path.string())
            .hint("name a directory with train/*.lmdb and eval/*.lmdb");
    return Trajectories(std::move(files), size);
}

Result<Structure> Trajectories::read(uint64_t place, double cutoff) const {
    if (place >= size_)
        return bad_input("{}: it has {} structures, and number {} is needed",
                         files_[0].path.parent_path().string(), size_, place)
            .hint("train on fewer samples: --train-samples, --eval-samples");
    const auto after = std::ranges::upper_bound(files_, place, {}, &File::first);
    // Files without structures share their first place with the next one, which is the last of them.
    const File& file = *std::prev(after);
    const std::string key = std::to_string(place - file.first);
    BELAY_TRY(bytes, file.value(key));
    auto decode = [&]() -> Result<Structure> {
        BELAY_TRY(structure, structure_from_pickle(bytes));
        BELAY_CHECK(check_structure(structure, cutoff));
        return structure;
    };
    return core::with_context(decode(), fmt::format("{}: key \"{}\"", file.path.string(), key));
}

}  // namespace belay::bench::oc20
