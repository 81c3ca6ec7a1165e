// One look at a file of a copy: what it is, and by what it is known.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "stage/copy/brought.h"
#include "stage/pack/source_place.h"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace belay::stage {

// Of this machine, as long as it runs.
struct FileIdentity {
    uint64_t device = 0;
    FileMark mark = {};
    FileId id() const { return {.device = device, .inode = mark.inode}; }
    bool is_same(const FileIdentity& other) const {
        return device == other.device && mark.is_same(other.mark);
    }
};

struct FileLook {
    FileIdentity identity = {};
    bool is_regular = false;
    bool is_mount = false;  // something is mounted there, as far as the kernel says so (since Linux 5.8)
    uint64_t bytes = 0;
    int64_t modified = 0;  // nanoseconds since 1970
    uid_t owner = 0;

    // Of this user, of this size and time, which may be kept to the second.
    bool is_as_planned(uint64_t planned_bytes, int64_t planned_modified) const;
};

// Of a name in a directory, no link followed; of the directory itself for "". Nothing where it is not there.
// Errors: kSystem.
core::Result<std::optional<FileLook>> look_at_file(const core::Directory& directory, const std::string& name);

// Whether a file that shows the time `there` has the time `planned`, also where times are kept to the second.
bool is_same_time(int64_t there, int64_t planned);

}  // namespace belay::stage
