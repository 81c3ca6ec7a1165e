// belay env validate: what is wrong with environment files, before a job is.
#include "cli/commands.h"
#include "core/utf8.h"
#include "env/json.h"
#include "step/environment.h"

#include <cstdio>
#include <memory>

namespace belay::cli {

namespace {

struct Options {
    std::vector<std::string> files;
    bool strict = false;
    bool json = false;
};

core::Result<int> validate(const Options& options, const core::CommandContext& context) {
    BELAY_TRY(configuration, context.configuration());
    BELAY_TRY(host, step::environment_host(configuration));
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    bool all_ok = true;
    for (const std::string& file : options.files) {
        env::Problems problems;
        env::Environment environment = env::load_environment(file, host, problems);
        (void)env::expand_variables(environment, {}, host.variables, problems);
        bool ok = !env::has_errors(problems) && (!options.strict || env::passes_strictly(problems));
        all_ok = all_ok && ok;
        list.push_back(env::to_json(file, ok, problems));
        if (options.json) continue;
        fmt::print(stderr, "{}", env::render(problems));
        context.print("{}: {}\n", core::printable(file), ok ? "ok" : "not ok");
    }
    if (options.json) context.print_json(list);
    return all_ok ? 0 : 2;
}

}  // namespace

void add_env_validate(core::Application& application) {
    auto command = application.add({
        .name = "env validate",
        .summary = "check environment files",
        .description = "Reads each file, or the environment of each name, with all that it inherits, and "
                       "shows every mistake "
                       "with its place. What the files name is checked as the caller sees it now: variables, "
                       "sources of mounts, "
                       "image files. Whether a registry has an image is not asked.\n\n"
                       "Ends with 2 if anything is wrong; warnings do not count, unless --strict is given.",
        .examples = {{"belay env validate ./pytorch.toml", "one file"},
                     {"belay env validate --strict --json ~/.edf/*.toml", "all of them, for a script"}},
    });
    auto options = std::make_shared<Options>();
    command.options().add_option("FILE", options->files, "files or names of environments")->required();
    command.options().add_flag("--strict", options->strict, "warnings count as errors");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return validate(*options, context); });
}

}  // namespace belay::cli
