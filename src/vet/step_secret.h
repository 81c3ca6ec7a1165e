// The secret of a step that nobody gave one: the first node makes it up and offers it to the others in a
// credential of munge, which only processes of the same user can open.
#pragma once

#include "slurm/munge.h"
#include "vet/step.h"

#include <optional>

namespace belay::vet {

// Fills in what the context lacks, if it has no secret. Where munge is not there, the secret follows from the
// step's own facts: it keeps steps apart, but does not keep out another user of the cluster who knows them.
// Then the first node gets a warning to show. Errors: kSystem, also where munge is there and does not answer.
core::Result<std::optional<core::Error>> share_secret(StepContext& context,
                                                      const slurm::Credentials& credentials);

}  // namespace belay::vet
