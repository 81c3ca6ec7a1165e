// Whether the mounts of a container are as its plan says. crun refuses flags of a mounted file, and a runtime
// of another version may ignore what it does not know.
#pragma once

#include "core/error.h"
#include "env/container/plan.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace belay::env {

// A mount that must have these flags: bits of struct statvfs (ST_RDONLY, ST_NOEXEC, ST_NOSUID, ST_NODEV).
struct MountFlags {
    std::string destination;
    unsigned long flags = 0;
    bool operator==(const MountFlags&) const = default;
};

// Pure: those of the plan, where a later one on the same destination wins.
std::vector<MountFlags> flags_of(const std::vector<Bind>& binds);

// Takes the flags of binds of files away, since crun cannot set them; the mount itself stays.
void take_flags_of_files(std::vector<Bind>& binds);

// In the container whose first process is `init`: sets the flags that a mount lacks, and refuses the
// container where that is not possible. In a child, since it joins the namespaces. Errors: kSystem.
core::Result<> set_mount_flags(pid_t init, const std::vector<MountFlags>& wanted);

}  // namespace belay::env
