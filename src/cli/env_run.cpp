// belay env run: a command in an environment, without Slurm.
#include "cli/commands.h"
#include "cli/env_options.h"
#include "env/container/container.h"

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

// The problems are shown whole; the error only says that there are some.
core::Result<> show(env::Problems& problems, const std::string& name) {
    fmt::print(stderr, "{}", env::render(problems));
    if (!env::has_errors(problems)) return {};
    return core::bad_input("environment {} cannot be used: see above", name);
}

core::Result<int> run(const Options& options, const core::CommandContext& context) {
    BELAY_TRY(configuration, context.configuration());
    BELAY_TRY(host, environment_host(context));
    env::Problems problems;
    env::Environment environment = env::load_environment(options.name, host, problems);
    env::refuse_unsupported(problems);
    BELAY_CHECK(show(problems, options.name));
    if (environment.runs_on_host()) {
        env::VariablePlan plan{env::expand_variables(environment, {}, host.variables, problems),
                               environment.unset, host.variables};
        return std::unexpected(env::execute(options.command, env::task_variables(plan, host.variables)));
    }
    BELAY_TRY(image, find_image(*environment.reference, context));
    problems.clear();
    env::ContainerPlan plan = env::make_plan(environment, image.facts,
                                             {.image_file = image.file,
                                              .overlay_size = configuration.size("env.overlay_size"),
                                              .host_variables = host.variables},
                                             problems);
    BELAY_CHECK(show(problems, options.name));
    BELAY_TRY(container, env::Container::start(plan, getpid()));
    BELAY_CHECK(container.join(plan));
    return std::unexpected(
        env::execute(options.command, env::task_variables(plan.variables, host.variables)));
}

}  // namespace

void add_env_run(core::Application& application) {
    auto command = application.add({
        .name = "env run",
        .summary = "run a command in an environment",
        .description = "Starts the environment's container on this machine, without root and without a "
                       "daemon, and runs the command in "
                       "it as the caller. What the command writes into the container's own files is kept in "
                       "memory and gone at its end. "
                       "The command's exit status is that of `belay env run`.",
        .examples = {{"belay env run pytorch -- python3 train.py", "as a job would run it"},
                     {"belay env run ./pytorch.toml -- bash", "look around"}},
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
