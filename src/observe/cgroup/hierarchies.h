// The hierarchies of cgroups that a host has: one of version 2, or one for each controller of version 1;
// hybrid hosts have both, with version 2 in `unified` and without controllers.
#pragma once

#include "core/file.h"
#include "observe/cgroup/slurm_path.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe::cgroup {

struct Hierarchy {
    core::Descriptor root;
    std::vector<std::string> controllers;  // of version 1; several may share a hierarchy, as cpu and cpuacct

    bool has(std::string_view controller) const;
};

// Those of one version. The same path is the same cgroup in each of them.
struct Hierarchies {
    Version version = Version::kUnified;
    std::vector<Hierarchy> each;
};

// `root` is /sys/fs/cgroup. None where nothing is mounted there.
std::vector<Hierarchies> find_hierarchies(const std::filesystem::path& root);

// The directories in one at a path below `directory`; none where it cannot be read.
std::vector<std::string> subdirectories(int directory, const std::string& path);

// The paths of the slurmds' own directories, which belong to root or to who looks.
std::vector<std::string> slurm_tops(const Hierarchies& hierarchies);

}  // namespace belay::observe::cgroup
