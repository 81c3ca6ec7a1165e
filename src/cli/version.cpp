// belay version: what was built from what.
#include "cli/build_facts.h"
#include "cli/commands.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

void add_version(core::Application& application) {
    auto command = application.add({
        .name = "version",
        .summary = "show version, commit and compiler",
        .examples = {{"belay version --json", "the same for a script"}},
        .bounds_own_waits = true,
    });
    auto json = std::make_shared<bool>(false);
    command.json(*json);
    command.run([json](const core::CommandContext& context) -> core::Result<int> {
        if (*json)
            context.print_json(
                nlohmann::json{{"version", kVersion}, {"commit", kCommit}, {"compiler", kCompiler}});
        else
            context.print("belay {} (commit {}, {})\n", kVersion, kCommit, kCompiler);
        return 0;
    });
}

}  // namespace belay::cli
