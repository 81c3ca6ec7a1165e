// Vetting the nodes of a step together: every node runs its own checks and reports to the first one, which
// runs the checks between nodes, judges, and tells everybody.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "transfer/members.h"
#include "vet/catalogue.h"
#include "vet/protocol.h"
#include "vet/verdict.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace belay::vet {

// How secrets are offered and taken: step_secret.h.
struct StepContext : transfer::Members {
    std::optional<size_t> need = {};  // how many nodes must pass; all if not set. Then it stops early
    core::Duration timeout = std::chrono::minutes(2);  // until all nodes must have reported
    NodeView view = {};
    std::function<void(size_t reported)> progress = {};  // called on the root
    // Called on the root before the others are told: what they do then may end this process.
    std::function<void(const Verdicts& verdicts)> announce = {};
};

// To be called once on each node of the step, by one task. Ends by itself, at the latest after
// longest_vetting_time(). Uses no globals, installs no signal handlers, leaves no threads, children (except
// those the kernel cannot end) or descriptors; forks, and expects that SIGCHLD is not ignored. On the root
// the verdicts are complete; elsewhere they hold this node's checks and those of others that did not pass.
// What fails on a node is that node's report, and the verdict names it. Errors: kSystem if vetting itself
// could not run: on the root, no port to listen on; on the other nodes, kUnreachable where no verdict came
// from the root in time (its node is named), and another cause where something failed on the node itself or
// the root has no address.
// Whoever gets an error must treat the step as refused.
core::Result<Verdicts> run_in_step(const Protocol& protocol, const StepContext& context);

// For a node other than the root that cannot even read the protocol: tells the root why, whose verdict then
// names this node. Errors: the failure itself, with why the root could not be told.
core::Result<> fail_in_step(const core::Error& failure, const StepContext& context);

// Whether this node may be silent about what run_in_step() or fail_in_step() failed of, since the second node
// says the same for thousands: the first cannot be met, or its name is not known. What else failed, only this
// node can say.
bool is_said_elsewhere(const core::Error& error, const StepContext& context);

// An upper bound: reporting, and the checks between nodes.
core::Duration longest_vetting_time(const Protocol& protocol, core::Duration timeout);

// The facts behind clock.offset, and how they are judged: each node against the median of all, since the
// root's clock may be the wrong one. Two nodes that differ both fail, as nobody can tell which is right.
struct ClockFacts {
    std::optional<double> seconds = {};  // ahead of the root's clock; nothing if it could not be measured
    double uncertainty = 0;              // half the round trip
    std::optional<core::Error> failure = {};
};
std::vector<Outcome> judge_clocks(const std::vector<ClockFacts>& nodes, double max_seconds);

}  // namespace belay::vet
