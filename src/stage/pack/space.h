// Whether what is about to be written fits, before anything is written.
#pragma once

#include "core/directory.h"
#include "core/error.h"

#include <cstdint>

namespace belay::stage {

struct Need {
    uint64_t bytes = 0;
    uint64_t files = 0;
};

// Of the space and inodes that are free, a tenth stays free for others. Quotas are looked at where the kernel tells them
// (quotactl_fd(2)); those of Lustre and NFS it does not. Errors: kSystem, kNoSpace, with what is needed and what there is.
core::Result<> check_space(const core::Directory& directory, const Need& need);

}  // namespace belay::stage
