// belay _prepare: what belay-step prepare does, where an image must be got first.
#include "step/prepare.h"

#include "cli/commands.h"
#include "step/image_import.h"

#include <memory>

namespace belay::cli {

void add_prepare(core::Application& application) {
    auto command = application.add({
        .name = "_prepare",
        .summary = "print the plan of a step for the Slurm plugin",
        .hidden = true,
        .bounds_own_waits = true,
    });
    auto words = std::make_shared<std::vector<std::string>>();
    command.passthrough("OPTION", *words, "what srun was given");
    command.run([words](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(plan, step::plan_for_plugin(*words, step::import_from_registry()));
        context.print("{}", plan);
        return 0;
    });
}

}  // namespace belay::cli
