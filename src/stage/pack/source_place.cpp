#include "stage/pack/source_place.h"

#include "core/utf8.h"

#include <algorithm>
#include <sys/stat.h>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::bad_input;
using core::Result;

// The directory in which `place` is, or would be made.
std::optional<FileId> standing_directory(const fs::path& place) {
    std::error_code error;
    fs::path at = fs::absolute(place, error);
    struct stat status{};
    while (!error && at != at.root_path()) {
        if (::stat(at.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return id_of(status);
        at = at.parent_path();
    }
    return error ? std::nullopt : id_of(at);
}

Result<bool> is_within_by_name(const fs::path& source, const fs::path& place) {
    std::error_code error;
    const fs::path root = fs::canonical(source, error);
    if (error)
        return core::errno_error(error.value(),
                                 fmt::format("cannot look at {}", core::printable(source.string())));
    const fs::path whole = fs::weakly_canonical(place, error);
    if (error)
        return core::errno_error(error.value(),
                                 fmt::format("cannot look at {}", core::printable(place.string())));
    return std::mismatch(root.begin(), root.end(), whole.begin(), whole.end()).first == root.end();
}

}  // namespace

FileId id_of(const struct stat& status) {
    return {.device = status.st_dev, .inode = status.st_ino};
}

std::optional<FileId> id_of(const fs::path& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    return id_of(status);
}

bool SourceDirectories::hold(const FileId& directory) const {
    return directory.device == device && std::ranges::binary_search(inodes, directory.inode);
}

Result<> refuse_place_in_source(const fs::path& source, const fs::path& place, std::string_view what,
                                const SourceDirectories& directories) {
    BELAY_TRY(is_within, is_within_by_name(source, place));
    if (is_within)
        return bad_input("{} {} {}, which is {}", core::printable(place.string()),
                         id_of(place) == id_of(source) ? "is the same as" : "lies within",
                         core::printable(source.string()), what)
            .hint("name a directory outside of it");
    const auto standing = standing_directory(place);
    if (standing && directories.hold(*standing))
        return bad_input("{} lies within {}, which is {}, under another name of the same directory",
                         core::printable(place.string()), core::printable(source.string()), what)
            .hint("name a directory outside of it; what is mounted where: findmnt");
    return {};
}

}  // namespace belay::stage
