// The nodes of the step that a command is one task of, for commands that work together.
#pragma once

#include "core/command.h"
#include "transfer/members.h"

#include <optional>
#include <string_view>

namespace belay::cli {

// One process of each node takes part; nothing outside a step, and for a second task of a node.
struct StepPlace {
    std::optional<transfer::Members> step = {};
    bool other_task = false;
};

// Errors: kSystem where others of the cluster could take part in `what`, "this copy", since nothing that only
// the step knows tells its nodes from them; kBadInput for variables that cannot be Slurm's.
core::Result<StepPlace> find_members(const core::CommandContext& context, std::string_view what);

// What that one is told: "done" would say that the node has what it waits for.
core::Failure several_tasks(std::string_view command);

}  // namespace belay::cli
