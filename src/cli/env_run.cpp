// belay env run: a command in an environment, without Slurm.
#include "cli/commands.h"
#include "env/container/container.h"
#include "step/image_import.h"

#include <cstdio>
#include <memory>
#include <unistd.h>

namespace belay::cli {

namespace {

struct Options {
    std::string name;
    std::vector<std::string> command;
};

// "pytorch -- python3 train.py" and "pytorch python3 train.py".
core::Result<> split_name(Options& options) {
    auto& words = options.command;
    options.name = words.at(0);
    words.erase(words.begin(), words.begin() + (words.size() > 1 && words[1] == "--" ? 2 : 1));
    if (words.empty())
        return core::bad_input("no command to run")
            .hint(fmt::format("belay env run {} -- COMMAND", options.name));
    return {};
}

core::Result<int> run(const Options& options, const core::CommandContext& context) {
    BELAY_TRY(configuration, context.configuration());
    std::string warnings;
    BELAY_TRY(plan,
              step::plan_environment(options.name, configuration, step::import_from_registry(), warnings));
    fmt::print(stderr, "{}", warnings);
    core::Environment variables = step::task_variables(plan, core::current_environment());
    if (plan.container) {
        BELAY_TRY(container, env::Container::start(*plan.container, variables, getpid(), STDERR_FILENO));
        BELAY_CHECK(container.join(plan.container->workdir));
        step::add_entry_variables(plan, container.entry_variables());
        variables = step::task_variables(plan, core::current_environment());
    }
    return std::unexpected(env::execute(options.command, variables));
}

}  // namespace

void add_env_run(core::Application& application) {
    auto command = application.add({
        .name = "env run",
        .summary = "run a command in an environment",
        .description =
            "Starts the environment's container on this machine, without root and without a daemon, and runs "
            "the command in it as the caller. What the command writes into the container's own files is kept "
            "in memory and lost when it ends. The command's exit status is that of `belay env run`.",
        .examples = {{"belay env run pytorch -- python3 train.py", "as a job would run it"},
                     {"belay env run ./pytorch.toml -- bash", "look around"}},
        .bounds_own_waits = true,
    });
    auto options = std::make_shared<Options>();
    command.passthrough("NAME", options->command,
                        "name or file of the environment, then the command and its arguments");
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        BELAY_CHECK(split_name(*options));
        return run(*options, context);
    });
}

}  // namespace belay::cli
