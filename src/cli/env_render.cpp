// belay env render: the environment that a job would get.
#include "cli/commands.h"
#include "core/json.h"
#include "env/edf_writer.h"
#include "env/json.h"
#include "step/environment.h"

#include <cstdio>
#include <memory>

namespace belay::cli {

namespace {

struct Options {
    std::string name;
    bool explain = false;
    bool json = false;
};

// {"status", "err" and "out" or "json"}: in words, since it comes out of another process.
std::string render_to_text(const Options& options, const env::Host& host) {
    env::Problems problems;
    env::Environment environment = env::load_environment(options.name, host, problems);
    auto variables = env::expand_without_image(environment, host.variables, problems);
    const bool ok = !env::has_errors(problems);
    nlohmann::ordered_json answer{{"status", ok ? 0 : static_cast<int>(env::kind_of(problems))},
                                  {"err", env::render(problems)}};
    if (options.json) {
        auto json = env::to_json(environment, variables, options.explain);
        json["problems"] = env::to_json(options.name, ok, problems)["problems"];
        answer["json"] = std::move(json);
    } else if (ok) {
        answer["out"] = env::to_edf(environment, variables, options.explain);
    }
    return answer.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

core::Result<int> render(const Options& options, const core::CommandContext& context) {
    BELAY_TRY(configuration, context.configuration());
    BELAY_TRY(text, step::read_in_time(options.name, [&]() -> core::Result<std::string> {
                  BELAY_TRY(host, step::environment_host(configuration));
                  return render_to_text(options, host);
              }));
    const auto answer = core::parse_ordered_json(text);
    if (options.json) {
        context.print_json(answer["json"]);
    } else {
        context.print("{}", answer.value("out", ""));
        fmt::print(stderr, "{}", answer["err"].get<std::string>());
    }
    return core::integer_from<int>(answer["status"]);
}

}  // namespace

void add_env_render(core::Application& application) {
    auto command = application.add({
        .name = "env render",
        .summary = "show an environment as a job would get it",
        .description =
            "Merges what the environment inherits, expands its variables with those of the caller, and "
            "prints the result as a complete environment file. Variables that the image sets are not known "
            "here, and a value that uses one stays as written; `belay env run` knows them.",
        .examples = {{"belay env render pytorch", "the environment of that name"},
                     {"belay env render --explain ./pytorch.toml", "and where each value comes from"}},
    });
    auto options = std::make_shared<Options>();
    command.options().add_option("NAME", options->name, "name or file of the environment")->required();
    command.options().add_flag("--explain", options->explain, "say where each value comes from");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return render(*options, context); });
}

}  // namespace belay::cli
