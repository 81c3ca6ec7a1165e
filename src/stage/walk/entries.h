// The names in a directory and what the kernel says of them, by getdents64 and statx.
#pragma once

#include "core/directory.h"
#include "stage/walk/walk.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay::stage {

// Since 1970; the first or the last that there can be for what is further away.
int64_t nanoseconds_of(int64_t seconds, int64_t nanoseconds);
template <typename Time>  // timespec, statx_timestamp
int64_t nanoseconds_of(const Time& time) {
    return nanoseconds_of(int64_t{time.tv_sec}, int64_t{time.tv_nsec});
}

struct NameList {
    std::vector<std::string> names;  // without "." and ".."
    uint64_t calls = 0;
    int errno_value = 0;  // of the call that failed; the names before it are there
};
NameList list_names(int directory);

// On which file system a file lies, and through which mount it was reached.
struct MountPlace {
    uint64_t device = 0;
    std::optional<uint64_t> mount = {};  // nothing before Linux 5.8
    // A mount may show a part of the same file system again, which has its device but not its mount's number.
    bool is_mount_of(const MountPlace& other) const {
        return device == other.device && (!mount || !other.mount || *mount == *other.mount);
    }
};

// Of an open file, without asking its server; nothing where the kernel does not say.
std::optional<MountPlace> place_of(int fd);

// What stands behind a name, no link followed. An errno, or 0.
struct Look {
    Entry entry;
    MountPlace place;
    int errno_value = 0;
};
// Of the directory itself for "". The entry has no name: that is the caller's to give. With `asks_server`
// whatever is known of the file here is not enough: another node may just have used it.
Look look_at(int directory, const std::string& name, bool asks_server = false);

}  // namespace belay::stage
