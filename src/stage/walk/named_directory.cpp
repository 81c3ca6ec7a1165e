#include "stage/walk/named_directory.h"

#include <cerrno>

namespace belay::stage {

core::Result<core::Directory> open_named_directory(const std::filesystem::path& path) {
    auto directory = core::Directory::open(path);
    if (directory ||
        (directory.error().errno_value() != ENOENT && directory.error().errno_value() != ENOTDIR))
        return directory;
    return std::unexpected(std::move(directory.error()).as(core::ErrorKind::kBadInput));
}

}  // namespace belay::stage
