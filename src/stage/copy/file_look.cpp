#include "stage/copy/file_look.h"

#include "core/activity.h"
#include "core/utf8.h"
#include "stage/walk/entries.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace belay::stage {

using core::Result;

Result<std::optional<FileLook>> look_at_file(const core::Directory& directory, const std::string& name) {
    constexpr uint64_t kMountRoot = 0x2000;  // STATX_ATTR_MOUNT_ROOT
    constexpr unsigned kWanted = STATX_TYPE | STATX_UID | STATX_MTIME | STATX_INO | STATX_SIZE | STATX_BTIME;
    core::note_activity("look at", directory.path_of(name).native());
    const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name.empty() ? AT_EMPTY_PATH : 0);
    struct statx status{};
    if (statx(directory.fd(), name.c_str(), flags, kWanted, &status) != 0) {
        if (errno == ENOENT) return std::optional<FileLook>();
        return core::errno_error(
            errno, fmt::format("cannot look at {}", core::printable(directory.path_of(name).string())));
    }
    const bool has_birth = (status.stx_mask & STATX_BTIME) != 0;
    return std::optional(
        FileLook{.identity = {.device = makedev(status.stx_dev_major, status.stx_dev_minor),
                              .mark = {.inode = status.stx_ino,
                                       .born = has_birth ? nanoseconds_of(status.stx_btime) : 0}},
                 .is_regular = S_ISREG(status.stx_mode),
                 .is_mount = (status.stx_attributes & kMountRoot) != 0,
                 .bytes = status.stx_size,
                 .modified = nanoseconds_of(status.stx_mtime),
                 .owner = status.stx_uid});
}

bool is_same_time(int64_t there, int64_t planned) {
    constexpr int64_t kSecond = 1'000'000'000;
    return there == planned || (there % kSecond == 0 && there / kSecond == planned / kSecond);
}

bool FileLook::is_as_planned(uint64_t planned_bytes, int64_t planned_modified) const {
    return is_regular && owner == geteuid() && bytes == planned_bytes &&
           is_same_time(modified, planned_modified);
}

}  // namespace belay::stage
