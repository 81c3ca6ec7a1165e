// Whether the mounts of a container are as its plan says. crun cannot set flags of a mounted file, and a
// runtime of another version may ignore what it does not know.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "env/container/plan.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace belay::env {

// A mount that must have these flags: MOUNT_ATTR_RDONLY, _NOEXEC, _NOSUID, _NODEV of mount_setattr(2).
struct MountFlags {
    std::string destination;
    uint64_t flags = 0;
    bool operator==(const MountFlags&) const = default;
};

// Whether an option of a bind is one of those flags, in its plain or its recursive form.
bool is_mount_flag(std::string_view option);

// Pure: those of the plan, where a later one on the same destination wins.
std::vector<MountFlags> flags_of(const std::vector<Bind>& binds);

// In the container whose first process is `init`: sets the flags that a mount lacks, and refuses the
// container where that is not possible. In a child, since it joins the namespaces; the kernel's list of
// mounts says what they are, so no file server is asked. Errors: kSystem, kTimedOut.
core::Result<> set_mount_flags(pid_t init, const std::vector<MountFlags>& wanted, core::Duration allowed);

}  // namespace belay::env
