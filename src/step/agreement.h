// The nodes of a step tell each other whether they are ready: either all start their tasks or none does.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "transfer/members.h"

#include <optional>
#include <string>
#include <vector>

namespace belay::step {

// `failure` is why this node is not ready. True if all are. On the first node the reasons put into
// `causes`, one for each, with the nodes that it holds for. Errors: kSystem if the nodes cannot talk,
// kUnreachable where the first does not answer this one; `failure` itself where it could not be told, with
// why.
core::Result<bool> agree(const transfer::Members& members, const std::optional<core::Error>& failure,
                         core::Duration timeout, std::vector<std::string>& causes);

// For steps whose nodes need not agree: those that have failed meet for a moment, so that a cause that
// several see is told once. Errors: kSystem if this one did not meet the first node; then it must tell its
// cause itself.
core::Result<> fail_together(const transfer::Members& members, const core::Error& failure,
                             core::Duration timeout, std::vector<std::string>& causes);

struct NodeFailure {
    std::string node;
    core::Error why;
};
// What nodes said, as lines: "n[1-2]: WHY", with the hint below if there is one.
std::vector<std::string> causes_of(const std::vector<NodeFailure>& failures);

}  // namespace belay::step
