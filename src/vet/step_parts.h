// The parts of run_in_step().
#pragma once

#include "core/work.h"
#include "vet/step.h"
#include "vet/step_wire.h"

#include <map>
#include <string>
#include <vector>

namespace belay::vet {

core::Result<Verdicts> run_root(const Protocol& protocol, const StepContext& context);
core::Result<Verdicts> run_member(const Protocol& protocol, const StepContext& context);

// This node's own checks in a process of their own; its result is an encoded report. Whoever kills it kills
// the check that runs.
core::Result<core::Work> start_own_checks(const Protocol& protocol, const StepContext& context,
                                          core::Deadline deadline);

// What was running at the deadline is still reported: nodes have this much longer to do so.
inline constexpr core::Duration kReportTime = std::chrono::seconds(1);

// This node's side of a test of a pair.
PairAnswer answer_pair_order(const PairOrder& order, int data_listener, const std::string& secret);

// A test of the bandwidth between two of the step's nodes and what came of it.
struct PairNode {
    uint32_t rank = 0;
    std::string name;
    uint16_t data_port = 0;
};
struct PairSettings {
    std::string secret;
    std::string name;        // prefix of the tests' names
    int data_listener = -1;  // the root's own
    core::Deadline deadline{};
    uint64_t seed = 0;
};
// Runs check net.pair_bandwidth over the nodes, the root among them; an outcome for each. Errors: kSystem as
// serve().
core::Result<std::map<uint32_t, Outcome>> test_pairs(transfer::Root& root, const std::vector<PairNode>& nodes,
                                                     const Check& check, const PairSettings& settings);

// One side of a test of a pair, and what it received or what failed there.
struct PairSide {
    std::string name;  // of the node
    core::Result<double> bytes_per_second;
};
// The lower of what both received. Errors: what failed, with the side where it did: to the listener it looks
// as if nobody came, whatever keeps the other from coming.
core::Result<double> rate_of_pair(const PairSide& listener, const PairSide& connector);

// How long the checks between nodes may take, all together.
core::Duration step_checks_time(const Protocol& protocol);

}  // namespace belay::vet
