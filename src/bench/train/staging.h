// Copies the data of a run to storage of its node, as the first thing that is timed (MLPerf HPC's rules to 2.0).
#pragma once

#include "bench/train/sharing.h"
#include "core/error.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace belay::bench {

struct Staged {
    uint64_t files = 0, bytes = 0;
};

// Copies `names` from one directory into another, keeping names: without any, all that a packed data set is made of, or all
// regular files beneath. Of ranks that share the work each does as many. The new files and directories are this user's alone, and take the place of what has
// their names; nobody else can put another directory in the place of `to`. Errors: kBadInput if one directory is
// within the other, or (kDenied) as Directory::make_guarded(); kSystem, kNoSpace; kCancelled once `stop` is set.
core::Result<Staged> stage_files(const std::filesystem::path& from, const std::filesystem::path& to,
                                 std::vector<std::string> names, Sharing sharing,
                                 const std::atomic<bool>& stop);

}  // namespace belay::bench
