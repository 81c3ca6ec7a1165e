#include "cli/step_members.h"

#include "slurm/job.h"
#include "slurm/munge.h"
#include "vet/step_context.h"
#include "vet/step_secret.h"

namespace belay::cli {

core::Result<StepPlace> find_members(const core::CommandContext& context, std::string_view what) {
    const auto lookup = slurm::process_environment();
    BELAY_TRY(facts, slurm::read_task_facts(lookup));
    StepPlace place;
    if (!facts) return place;
    BELAY_TRY(known, vet::step_context(lookup, slurm::system_address()));
    place.other_task = !known && facts->step_id && facts->local_rank.value_or(0) > 0;
    if (!known) return place;
    BELAY_TRY(configuration, context.configuration());
    BELAY_TRY(weakness, vet::share_secret(*known, slurm::munge_at(configuration.text("munge.socket"))));
    // Who takes part may read and change what is exchanged: unlike a vetting, nothing is worth that.
    if (weakness)
        return core::system_error(
                   "{} did not begin: without munge or a secret, other users of the cluster could take part "
                   "in "
                   "it",
                   what)
            .hint(weakness->hint_text());
    place.step = std::move(*known);  // what is vetting's own falls away
    return place;
}

core::Failure several_tasks(std::string_view command) {
    return core::bad_input("belay {} runs once on each node, and this step has several tasks on a node",
                           command)
        .hint(fmt::format("start it in a step of its own: srun --ntasks-per-node=1 belay {}", command));
}

}  // namespace belay::cli
