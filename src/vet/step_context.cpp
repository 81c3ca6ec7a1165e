#include "vet/step_context.h"

namespace belay::vet {

using core::Result;

Result<std::optional<StepContext>> step_context(const slurm::Lookup& lookup,
                                                const slurm::AddressOf& address_of) {
    BELAY_TRY(step, slurm::read_step(lookup));
    if (!step || step->local_rank != 0) return std::optional<StepContext>();
    StepContext context;
    context.rank = static_cast<uint32_t>(step->node_rank);
    context.nodes = std::move(step->nodes);
    context.name = std::move(step->name);
    context.secret = lookup(kSecretVariable).value_or("");
    if (context.rank == 0 || context.nodes.size() == 1) return std::optional(std::move(context));
    context.root_address = core::with_context(
        address_of(context.nodes[0]),
        fmt::format("{}, where the nodes of the step meet, has no address", context.nodes[0]));
    return std::optional(std::move(context));
}

}  // namespace belay::vet
