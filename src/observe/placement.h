// Where a recorder runs: the job, the node, and which of the node's tasks this is.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "record/manifest.h"

#include <optional>
#include <string>

namespace belay::observe {

struct Placement {
    record::JobFacts job;
    std::string node;
    std::optional<int64_t> task;      // rank in the step; nothing outside Slurm
    std::optional<std::string> step;  // its number; nothing in a batch script
    bool samples_node = true;  // the first task of each node samples it, the others only their own output
    bool first_of_job = true;  // the first task of the step begins the record
    int64_t first_task = 0;    // lowest rank on this node
    std::optional<int64_t> tasks_on_node;
    std::optional<int64_t> cpus;  // that the step may use on this node
};

// From Slurm's environment of a task, or of this machine alone if there is none. Errors: kBadInput for
// variables that cannot be Slurm's.
core::Result<Placement> find_placement();

// The same for who begins the record: asks slurmctld too (bounded in time, only from the first task) for the
// times of the job, and says on stderr where that fails.
core::Result<Placement> find_placement_and_times();

}  // namespace belay::observe
