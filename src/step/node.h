// On each node of a step, once, as the user: vets it with the others, makes its container, begins the record.
#pragma once

#include "env/container/container.h"
#include "slurm/job.h"
#include "step/plan.h"

#include <expected>
#include <functional>
#include <sys/types.h>

namespace belay::step {

struct PreparedNode {
    bool recorded = false;
    std::optional<env::Container> container;
    std::string
        root_address;  // of the step's first node, as this one reaches it; empty where nothing tells it
};

struct NodeContext {
    slurm::TaskFacts step;
    core::Environment variables;       // of the first task
    std::vector<std::string> command;  // that the tasks will run
    pid_t watched = 0;                 // the container lives as long as this process
    int notices = -1;                  // for lines of the container's holder
    // Hands the tasks all they need, before the nodes tell each other that they are ready.
    std::function<core::Result<>(const PreparedNode&)> offer = {};
};

// A node whose tasks may start. Or, if one was found unfit or could not be prepared, here or elsewhere, with
// what this program ends: the kind of what failed on this node, kNegative where it was another. Then no task
// of the step may run, and one node has said why on stderr.
using Prepared = std::expected<PreparedNode, core::ErrorKind>;

// Errors: kSystem, kBadInput for what no other node says.
core::Result<Prepared> prepare_node(const StepPlan& plan, const NodeContext& context);

// Where the step is recorded. Errors: kBadInput for a pattern that cannot be expanded.
core::Result<std::string> record_path(const RecordingPlan& plan, const slurm::TaskFacts& step);

}  // namespace belay::step
