// What a process of a Slurm step knows about meeting the others, from its environment.
#pragma once

#include "slurm/job.h"
#include "transfer/socket.h"
#include "vet/step.h"

#include <functional>
#include <optional>

namespace belay::vet {

// A name's address as this node reaches it. Errors: kSystem, why there is none. Injected: tests have neither
// Slurm nor a name service.
using AddressOf = std::function<core::Result<std::string>(const std::string& node)>;

// The system's resolver, or else what Slurm's configuration says (NodeAddr), asked through scontrol. Answers
// within half a minute, also where a name service hangs.
AddressOf system_address();

// A name's address, or nothing where it is not known. May take as long as it likes.
using Resolver = std::function<std::optional<std::string>(const std::string& name)>;
// Asks in a child, which is killed at the deadline. Errors: kSystem with the name, also where nobody answers.
core::Result<std::string> resolve_by(core::Deadline deadline, const std::string& name,
                                     const Resolver& resolver);

// Variable with the step's secret, for whoever starts a step in which `belay vet run` shall have one.
inline constexpr std::string_view kSecretVariable = "BELAY_STEP_SECRET";

// For one task per node: nothing outside a step of Slurm and for all but the first task of each node. Without
// a secret in the environment one follows from the step's own facts: it keeps steps apart, but does not keep
// out another user of the cluster who knows them. Errors: kBadInput for variables that are not Slurm's,
// kSystem if the first node has no address.
core::Result<std::optional<StepContext>> step_context(const slurm::Lookup& lookup,
                                                      const AddressOf& address_of);

}  // namespace belay::vet
