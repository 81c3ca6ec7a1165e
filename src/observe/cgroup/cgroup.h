// The table cgroup: what the kernel accounts for the jobs, steps and tasks of Slurm on this node.
#pragma once

#include "observe/cgroup/live_cgroups.h"
#include "observe/collect/collector.h"

#include <filesystem>
#include <memory>

namespace belay::observe::cgroup {

struct CgroupOptions {
    LiveOptions live;
    std::filesystem::path proc = "/proc";
    // Told once each of collector_failed: of cgroups beyond the limit, and of jobs whose number is not known;
    // may be empty.
    collect::EventSink on_event = nullptr;
};

// Owes no rows where Slurm keeps no cgroups.
std::unique_ptr<collect::Collector> make_cgroup_collector(const CgroupOptions& options);

}  // namespace belay::observe::cgroup
