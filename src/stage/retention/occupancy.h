// How full a file system is, and what a policy's watermarks make of it.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "stage/retention/policy.h"

#include <cstdint>
#include <string_view>
#include <sys/statvfs.h>

namespace belay::stage {

// As df(1) says it.
struct Occupancy {
    double bytes_share = 0;
    double inodes_share = 0;  // 0 where it makes inodes as it needs them
    uint64_t bytes = 0;       // of all that the shares are of: without what is kept for root
    uint64_t inodes = 0;
    double share() const { return bytes_share > inodes_share ? bytes_share : inodes_share; }
};

// What a file system does not know, or says wrongly, is not full: it has no size, or more free than there is.
// Pure.
Occupancy occupancy_in(const struct statvfs& status);
// Errors: kSystem.
core::Result<Occupancy> occupancy_of(const core::Directory& root);

enum class Pressure { kNone, kAsk, kPurge };
std::string_view to_text(Pressure pressure);
// None without watermarks.
Pressure pressure_of(const RetentionPolicy& policy, const Occupancy& occupancy);

}  // namespace belay::stage
