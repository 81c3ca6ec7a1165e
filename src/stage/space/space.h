// Whether what is about to be written fits, before anything is written.
#pragma once

#include "core/config.h"
#include "core/directory.h"
#include "core/error.h"

#include <cstdint>

namespace belay::stage {

inline constexpr double kUsualMemoryShare = 0.5;

struct Need {
    uint64_t bytes = 0;
    uint64_t files = 0;
    double memory_share = kUsualMemoryShare;  // of the job's memory that all its files in memory may take
};

// The setting stage.memory_share. Errors: kBadInput for one that is not a share.
core::Result<double> memory_share_of(const core::Configuration& configuration);

// Of the space and inodes that are free, a tenth stays free for others. Quotas are looked at where the kernel
// tells them (quotactl_fd(2)); those of Lustre and NFS it does not. Where files take memory, they and what
// the job has there already must be within its share (memory_room.h). Errors: kSystem, kNoSpace, with what is
// needed and what there is.
core::Result<> check_space(const core::Directory& directory, const Need& need);

}  // namespace belay::stage
