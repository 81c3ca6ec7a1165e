// What a process can know about its Slurm job, step and task without asking Slurm: the environment that
// slurmd gives it.
#pragma once

#include "core/error.h"
#include "core/process.h"
#include "core/time.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::slurm {

// The value of an environment variable, or nothing if it is unset.
using Lookup = std::function<std::optional<std::string>(std::string_view)>;

// Looks in the environment of this process.
Lookup process_environment();
// Looks in these variables, which must live longer.
Lookup lookup_in(const core::Environment& variables);

// Where Slurm says nothing, or an older version did not yet, the value is missing. A batch script and a shell
// of salloc have no rank and no step nodes.
struct TaskFacts {
    uint64_t job_id = 0;  // of an array's task, its own id
    std::optional<std::string> cluster = {};
    std::optional<uint64_t> array_job_id = {};
    std::optional<uint64_t> array_task = {};
    uint64_t restart = 0;  // how often it was requeued
    std::optional<uint64_t> step_id = {};
    std::optional<std::string> name = {};
    std::optional<std::string> account = {};
    std::optional<std::string> user = {};
    std::optional<std::string> partition = {};

    std::vector<std::string> job_nodes = {};   // in Slurm's order
    std::vector<std::string> step_nodes = {};  // in the order of node_rank
    std::optional<uint64_t> node_count = {};   // of the step, outside a step of the job
    std::optional<uint64_t> task_count = {};   // of the step, outside a step of the job
    std::optional<uint64_t> rank = {};         // 0 … task_count - 1 in the step
    std::optional<uint64_t> local_rank = {};   // on this node
    std::optional<uint64_t> node_rank = {};    // 0 … node_count - 1 in the step
    std::optional<std::string> node = {};      // this node's name in Slurm, which need not be its host name
    std::optional<uint64_t> cpus_on_node = {};
    // Devices given to this task, as CUDA sees them (indices or UUIDs), else as Slurm numbers them; empty if
    // it was given none, nothing if nobody said.
    std::optional<std::vector<std::string>> gpus = {};

    std::optional<core::Time> start = {};  // of the job; Slurm 22.05 and newer, only where it sets them
    std::optional<core::Time> end = {};    // when its time limit is over
    // Where srun runs, as the nodes reach it.
    std::optional<std::string> launch_address = {};
};

// The facts; nothing outside a Slurm job (SLURM_JOB_ID is not set). Errors: kBadInput for a value that cannot
// be what Slurm writes, naming the variable.
core::Result<std::optional<TaskFacts>> read_task_facts(const Lookup& lookup);

}  // namespace belay::slurm
