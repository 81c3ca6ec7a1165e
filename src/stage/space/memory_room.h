// How much of a job's memory may be given to files, where these lie in memory: on nodes without disks, staged
// data, the spool, images and caches are all in the same RAM as the job. The kernel charges them to the job
// that writes them, as shared memory; so one number of its says what all of them take.
#pragma once

#include "core/directory.h"
#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace belay::stage {

struct MemoryRoom {
    uint64_t limit = 0;  // bytes of memory that the job may use, or of the node where nothing limits it
    uint64_t held = 0;   // by files in memory, of these
    std::string of;      // "the job", "the node"
};

// Whether files of this directory take memory: tmpfs and ramfs.
bool is_in_memory(const core::Directory& directory);

struct MemoryPlaces {
    std::filesystem::path proc = "/proc";
    std::filesystem::path cgroup = "/sys/fs/cgroup";
};

// From the cgroup of this process, version 2 or 1: the lowest limit above it, and what the job holds, all its
// steps; or from /proc/meminfo. Errors: kSystem where not even that can be read.
core::Result<MemoryRoom> memory_room(const MemoryPlaces& places = {});

// The line of /proc/self/cgroup that says where memory is accounted, "/slurm/uid_7/job_3/step_0": of version
// 2 or 1. Pure.
struct MemoryCgroup {
    bool is_unified = true;
    std::string path;
};
std::optional<MemoryCgroup> find_memory_cgroup(std::string_view text);

}  // namespace belay::stage
