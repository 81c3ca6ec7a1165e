// belay env validate: what is wrong with environment files, before a job is.
#include "cli/commands.h"
#include "core/json.h"
#include "core/utf8.h"
#include "env/json.h"
#include "step/environment.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

struct Options {
    std::vector<std::string> files;
    bool strict = false;
    bool json = false;
};

// What is wrong with one, as it is shown and as JSON. Files of an environment may be on a server that does
// not answer.
struct Validated {
    int status;
    std::string shown;
    nlohmann::ordered_json json;
};

core::Result<Validated> validate_file(const std::string& file, bool strict,
                                      const core::Configuration& configuration) {
    BELAY_TRY(text, step::read_in_time(file, [&]() -> core::Result<std::string> {
                  BELAY_TRY(host, step::environment_host(configuration));
                  env::Problems problems;
                  env::Environment environment = env::load_environment(file, host, problems);
                  (void)env::expand_without_image(environment, host.variables, problems);
                  const bool ok = !env::has_errors(problems) && (!strict || env::passes_strictly(problems));
                  return nlohmann::ordered_json{{"status", ok ? 0 : static_cast<int>(env::kind_of(problems))},
                                                {"shown", env::render(problems)},
                                                {"json", env::to_json(file, ok, problems)}}
                      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
              }));
    auto answer = core::parse_ordered_json(text);
    return Validated{answer["status"], answer["shown"], std::move(answer["json"])};
}

core::Result<int> validate(const Options& options, const core::CommandContext& context) {
    BELAY_TRY(configuration, context.configuration());
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    int status = 0;
    for (const std::string& file : options.files) {
        BELAY_TRY(validated, validate_file(file, options.strict, configuration));
        status = std::max(status, validated.status);
        list.push_back(std::move(validated.json));
        if (options.json) continue;
        fmt::print(stderr, "{}", validated.shown);
        context.print("{}: {}\n", core::printable(file), validated.status == 0 ? "ok" : "not ok");
    }
    if (options.json) context.print_json(list);
    return status;
}

}  // namespace

void add_env_validate(core::Application& application) {
    auto command = application.add({
        .name = "env validate",
        .summary = "check environment files",
        .description = "Reads each file, or the environment of each name, with everything that it inherits, "
                       "and shows every mistake with its place. Whatever the files name is checked as the "
                       "caller sees it now: variables, sources of mounts, image files. Registries are not "
                       "asked whether they have an image.\n\n"
                       "The exit status is 2 if anything is wrong, and 3 if the system could not tell; "
                       "warnings count only with --strict.",
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
