// Which part of a data-parallel run this process is, from the environment its launcher gave it.
#pragma once

#include "core/error.h"
#include "core/process.h"

#include <string>

namespace belay::bench {

enum class Launcher { kNone, kSlurm, kVariables };

struct World {
    Launcher launcher = Launcher::kNone;
    int rank = 0;
    int size = 1;
    int local_rank = 0;
    int local_size = 1;  // ranks on this node
    int nodes = 1;
    std::string first_node = {};  // of a step of Slurm, by its name
};

// RANK and WORLD_SIZE (with LOCAL_WORLD_SIZE) as torchrun sets them, else what srun gives the tasks of a
// step, else a run of one process. A batch script outside srun counts as one process, although SLURM_NTASKS
// may say more. Errors: kBadInput, naming the variable.
core::Result<World> world_from(const core::Environment& environment);

}  // namespace belay::bench
