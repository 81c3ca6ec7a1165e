// The steps of Slurm on a node, known by their slurmstepd: its title is "slurmstepd: [JOB.STEP]", where STEP
// is a number, batch, extern or interactive (Slurm 22.05; a part of a heterogeneous job adds "+N").
#pragma once

#include "core/process.h"
#include "core/time.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace belay::observe::collect {

inline constexpr std::string_view kStepDaemon = "slurmstepd";

struct StepName {
    int64_t job_id = 0;
    std::string step;
    bool operator==(const StepName&) const = default;
};

// Of /proc/PID/cmdline; nothing for any other title.
std::optional<StepName> parse_step_title(std::string_view command_line);

// As it stands in the record: null in a batch script.
std::optional<std::string> step_column(const StepName& name);

// What is kept of the environment of a step's tasks: which step it is, and what it holds of the node.
inline constexpr std::string_view kStepVariables[] = {
    "SLURM_CLUSTER_NAME", "SLURM_JOB_ID",    "SLURM_STEP_ID",  "SLURMD_NODENAME", "SLURM_RESTART_COUNT",
    "SLURM_CPUS_ON_NODE", "SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "SLURM_GTIDS",     "CUDA_VISIBLE_DEVICES"};
inline constexpr size_t kLongestStepVariable = 16'384;  // bytes; a rank for each of a node's tasks

// A step as the last look found it.
struct StepOnNode {
    StepName name;
    pid_t daemon = 0;
    int64_t start_ticks = 0;            // of the daemon, since boot
    std::optional<core::Time> started;  // the same as a time
    // Of one of its tasks; nothing while none could be read.
    std::optional<core::Environment> environment;
    bool is_hidden = false;  // there are tasks, and their environments may not be read

    // Whether its tasks run on this node, where several slurmd share a machine; not known yet is no.
    bool is_of(std::string_view node) const;
    // Whether they say that they are of another cluster, of which a part runs on this machine too.
    bool is_of_other_cluster(std::string_view cluster) const;
};

// Told at every look of all steps that count. Called from within collect().
using StepSink = std::function<void(core::Time now, std::span<const StepOnNode> steps)>;

}  // namespace belay::observe::collect
