// What the environment of a task says of its step's part of the node.
#pragma once

#include "core/process.h"

#include <cstdint>
#include <optional>

namespace belay::slurm {

// Where Slurm says nothing, or something that is not a number, the value is missing.
struct NodeShare {
    std::optional<int64_t> restart = {};     // SLURM_RESTART_COUNT
    std::optional<int64_t> cpus = {};        // SLURM_CPUS_ON_NODE
    std::optional<int64_t> tasks = {};       // of the step on this node: SLURM_GTIDS
    std::optional<int64_t> first_task = {};  // the lowest of their ranks
};

NodeShare read_node_share(const core::Environment& environment);

}  // namespace belay::slurm
