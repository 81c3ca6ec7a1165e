// Which mounts of a node the recorder asks for their size.
#pragma once

#include "procfs/mountinfo.h"

#include <cstddef>
#include <vector>

namespace belay::observe::collect {

// Not of a pseudo file system (proc, cgroup ...), nor below /proc or /sys.
bool holds_data(const procfs::Mount& mount);

// The mounts worth watching, at most `limit`: none without data,
// or that another mount hides, and of a file system that is mounted several times the first.
std::vector<procfs::Mount> mounts_to_watch(std::vector<procfs::Mount> mounts, size_t limit);

}  // namespace belay::observe::collect
