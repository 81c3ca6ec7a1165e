// What a process of a Slurm step knows about meeting the others, from its environment.
#pragma once

#include "slurm/step.h"
#include "vet/step.h"

#include <optional>

namespace belay::vet {

// Variable with the step's secret, for whoever starts a step in which `belay vet run` shall have one.
inline constexpr std::string_view kSecretVariable = "BELAY_STEP_SECRET";

// For one task per node: nothing outside a step of Slurm and for all but the first task of each node. The
// secret is that of the environment, or none. That the first node has no address is told by the context.
// Errors: kBadInput for variables that are not Slurm's.
core::Result<std::optional<StepContext>> step_context(const slurm::Lookup& lookup,
                                                      const slurm::AddressOf& address_of);

}  // namespace belay::vet
