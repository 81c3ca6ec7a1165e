// Copies the data of a run to storage of its node, as the first thing that is timed (MLPerf HPC's rules to 2.0).
#pragma once

#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace belay::bench {

struct Staged {
    uint64_t files = 0, bytes = 0;
};

// Copies `names` (all regular files beneath, where there are none) from one directory into another, keeping names; of
// `parts` ranks of a node each does every parts-th. What has the name is overwritten. Errors: kBadInput if one
// directory is within the other; kSystem, kNoSpace.
core::Result<Staged> stage_files(const std::filesystem::path& from, const std::filesystem::path& to,
                                 std::vector<std::string> names, int part, int parts);

}  // namespace belay::bench
