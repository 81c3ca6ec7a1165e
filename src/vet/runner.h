// The small engine behind the table: runs the checks of a protocol that one node can do alone.
#pragma once

#include "transfer/socket.h"
#include "vet/protocol.h"
#include "vet/verdict.h"

#include <functional>
#include <optional>
#include <vector>

namespace belay::vet {

struct NodeRunOptions {
    core::Deadline deadline{};           // what has not begun by then is an error
    bool stop_at_first_refusal = false;  // an essential check that does not pass ends it
    NodeView view = {};
    std::function<void(size_t done)> progress = {};
};

// One per check of the protocol, in its order; nothing for those of the step, and for those not run after a
// refusal.
using NodeResults = std::vector<std::optional<CheckResult>>;

// Every check runs in a child of its own, which is killed when its time is over. Checks that cannot be
// measured here are unsupported, those whose child crashed or timed out are errors: there is always a result.
NodeResults run_node_checks(const Protocol& protocol, const NodeRunOptions& options);

// A result with the check's name, type and severity.
CheckResult result_of(const Check& check, Outcome outcome);

// All checks of the protocol on this node alone, those of the step as they are for one node: unsupported.
Verdicts run_alone(const Protocol& protocol, const std::string& node, std::optional<size_t> need,
                   const NodeRunOptions& options);

}  // namespace belay::vet
