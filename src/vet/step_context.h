// What a process of a Slurm step knows about meeting the others, from its environment.
#pragma once

#include "slurm/job.h"
#include "vet/step.h"

#include <functional>
#include <optional>

namespace belay::vet {

// A name's address as this node reaches it, or nothing. Injected: tests have neither Slurm nor a name
// service.
using AddressOf = std::function<std::optional<std::string>(const std::string& node)>;

// The system's resolver, or else what Slurm's configuration says (NodeAddr), asked through scontrol.
AddressOf system_address();

// Variable with the step's secret, for whoever starts a step in which `belay vet run` shall have one.
inline constexpr std::string_view kSecretVariable = "BELAY_STEP_SECRET";

// For one task per node: nothing outside a step of Slurm and for all but the first task of each node. Without
// a secret in the environment one follows from the step's own facts: it keeps steps apart, but does not keep
// out another user of the cluster who knows them. Errors: kBadInput for variables that are not Slurm's,
// kSystem if the first node has no address.
core::Result<std::optional<StepContext>> step_context(const slurm::Lookup& lookup,
                                                      const AddressOf& address_of);

}  // namespace belay::vet
