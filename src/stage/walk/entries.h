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

// Of an open file, without asking its server; nothing where the kernel does not say.
std::optional<uint64_t> device_of(int fd);

// What stands behind a name, no link followed. An errno, or 0.
struct Look {
    Entry entry;
    uint64_t device = 0;  // the file system's
    int errno_value = 0;
};
// The entry has no name: that is the caller's to give.
Look look_at(int directory, const std::string& name);

}  // namespace belay::stage
