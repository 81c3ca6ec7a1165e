#include "stage/walk/entries.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace belay::stage {

namespace {

// As the kernel writes it; glibc's struct dirent64 has the same layout and a name of fixed length.
constexpr size_t kListBytes = size_t{256} << 10;

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x00001000U
#endif

core::FileType type_of(uint16_t mode) {
    if (S_ISREG(mode)) return core::FileType::kRegular;
    if (S_ISDIR(mode)) return core::FileType::kDirectory;
    if (S_ISLNK(mode)) return core::FileType::kLink;
    return core::FileType::kOther;
}

MountPlace place_in(const struct statx& status) {
    MountPlace place{.device = makedev(status.stx_dev_major, status.stx_dev_minor)};
    if ((status.stx_mask & STATX_MNT_ID) != 0) place.mount = status.stx_mnt_id;
    return place;
}

}  // namespace

int64_t nanoseconds_of(int64_t seconds, int64_t nanoseconds) {
    int64_t value = 0;
    if (__builtin_mul_overflow(seconds, int64_t{1'000'000'000}, &value) ||
        __builtin_add_overflow(value, nanoseconds, &value))
        return seconds < 0 ? INT64_MIN : INT64_MAX;
    return value;
}

NameList list_names(int directory) {
    NameList list;
    alignas(dirent64) static thread_local std::array<char, kListBytes> buffer;
    while (true) {
        const long size = syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
        ++list.calls;
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) list.errno_value = errno;
        if (size <= 0) return list;
        for (long at = 0; at < size;) {
            const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
            at += entry->d_reclen;
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..") list.names.emplace_back(name);
        }
    }
}

std::optional<MountPlace> place_of(int fd) {
    struct statx status{};
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &status) != 0) return std::nullopt;
    return place_in(status);
}

Look look_at(int directory, const std::string& name, bool asks_server) {
    constexpr unsigned kWanted = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_ATIME |
                                 STATX_MTIME | STATX_CTIME | STATX_INO | STATX_SIZE | STATX_BLOCKS |
                                 STATX_MNT_ID;
    const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (asks_server ? AT_STATX_FORCE_SYNC : 0) |
                      (name.empty() ? AT_EMPTY_PATH : 0);
    struct statx status{};
    int result = 0;
    do result = statx(directory, name.c_str(), flags, kWanted, &status);
    while (result != 0 && errno == EINTR);
    if (result != 0) return {.entry = {}, .place = {}, .errno_value = errno};
    // A file system that keeps none may show anything (SB_NOATIME; vfs_getattr_nosec() of the kernel).
    const bool has_access_time = (status.stx_mask & STATX_ATIME) != 0;
    constexpr uint64_t kBlockBytes = 512;  // of stx_blocks
    return {.entry = {.type = type_of(status.stx_mode),
                      .bytes = status.stx_size,
                      .allocated_bytes = status.stx_blocks * kBlockBytes,
                      .modified = nanoseconds_of(status.stx_mtime),
                      .accessed = has_access_time ? nanoseconds_of(status.stx_atime) : 0,
                      .changed = nanoseconds_of(status.stx_ctime),
                      .inode = status.stx_ino,
                      .links = status.stx_nlink,
                      .user = status.stx_uid,
                      .mode = status.stx_mode & 07777U},
            .place = place_in(status)};
}

}  // namespace belay::stage
