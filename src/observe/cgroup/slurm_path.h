// Where a cgroup stands in the tree that Slurm makes: job, step and task from its path alone.
//
//   parse_slurm_path(Version::kUnified, "system.slice/slurmstepd.scope/job_7/step_batch/user/task_0")
//       -> kTask, job 7, step "batch", task 0
//
// The layouts (Slurm's src/plugins/cgroup/v2/cgroup_v2.c, v1/cgroup_v1.c). NODE is there where several slurmd
// share a machine; the slice is system.slice unless cgroup.conf says CgroupSlice; JOB is job_J, or from Slurm
// 26.05 on a SLUID unless it says CgroupJobIdPaths; TASK is task_T, or task_special for what a step adopted:
//   version 2  [SLICE/...][NODE_]slurmstepd.scope/JOB/step_S/{slurm or user/TASK}
//   version 1  slurm[_NODE]/uid_U/job_J/step_S/TASK, in each of several hierarchies
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::observe::cgroup {

enum class Version : uint8_t { kLegacy = 1, kUnified = 2 };

// From the top down.
enum class Level : uint8_t {
    kTop,    // all that is a slurmd's
    kOwner,  // version 1: all jobs of a user
    kJob,
    kStep,
    kDaemon,  // version 2: a step's slurmstepd
    kTasks,   // version 2: all tasks of a step
    kTask,
};

struct SlurmPath {
    Level level = Level::kTop;
    std::string node;               // where several slurmd share a machine, else empty
    std::optional<int64_t> job_id;  // nothing above jobs, and where the path does not tell it
    std::string step;               // "0", "batch", "extern", "interactive"; empty above steps
    std::optional<int64_t> task;    // rank; nothing above tasks, and for task_special

    // It is in a job, and only a process of that job can tell which: Slurm 26.05 names the job's directory by
    // its SLUID, which does not hold the number.
    bool needs_member() const { return level >= Level::kJob && !job_id; }
    bool operator==(const SlurmPath&) const = default;
};

// `path` is relative to the hierarchy, as in /proc/PID/cgroup. What a job made beneath a task is the task's,
// and so on upwards. Nothing for a path that is not below a slurmd's own directory.
std::optional<SlurmPath> parse_slurm_path(Version version, std::string_view path);

}  // namespace belay::observe::cgroup
