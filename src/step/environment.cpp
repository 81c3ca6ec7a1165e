#include "step/environment.h"

#include "env/json.h"
#include "image/local_image.h"
#include "image/store_settings.h"

namespace belay::step {

using core::Result;

namespace {

env::ImageFacts facts_of(const image::ImageConfig& config) {
    env::ImageFacts facts{.variables = {},
                          .entrypoint = config.entrypoint,
                          .command = config.command,
                          .workdir = config.working_directory};
    for (const std::string& entry : config.environment)
        if (size_t equals = entry.find('='); equals != std::string::npos && equals > 0)
            facts.variables[entry.substr(0, equals)] = entry.substr(equals + 1);
    return facts;
}

std::string lock(const env::Environment& environment, const env::VariablePlan& variables,
                 const std::string& digest) {
    nlohmann::ordered_json json = env::to_json(environment, {}, false);
    // Names alone: values are where people keep tokens, and many may read a record.
    json["env"] = nlohmann::ordered_json::array();
    for (const auto& [name, value] : variables.environment) json["env"].push_back(name);
    json["name"] = environment.name;
    json["files"] = environment.files;
    json["digest"] = digest.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(digest);
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

Result<env::Host> environment_host(const core::Configuration& configuration) {
    std::vector<std::filesystem::path> directories;
    for (const std::string& directory : configuration.text_list("env.search_path")) {
        if (!directory.starts_with('/'))
            return core::bad_input("env.search_path: \"{}\" is no absolute path", directory)
                .hint("correct it in " + configuration.origin("env.search_path"));
        directories.emplace_back(directory);
    }
    return env::this_host(std::move(directories));
}

Result<FoundImage> find_image(const image::Reference& reference, const core::Configuration& configuration,
                              const Importer& import) {
    const core::Environment caller = core::current_environment();
    std::optional<image::Image> image;
    if (reference.is_file()) {
        // The store is not even looked for: a file needs none.
        BELAY_TRY(local, image::local_image(reference.file));
        image = std::move(local);
    } else {
        BELAY_TRY(store, image::open_store(configuration, caller));
        BELAY_TRY(found, store.find(reference));
        image = std::move(found);
        if (!image) {
            BELAY_TRY(imported, import(store, reference));
            image = std::move(imported);
        }
    }
    return FoundImage{image->squashfs.string(), image->digest, facts_of(image->config)};
}

Result<EnvironmentPlan> plan_environment(const std::string& name, const core::Configuration& configuration,
                                         const Importer& import, env::Problems& warnings) {
    BELAY_TRY(host, environment_host(configuration));
    env::Problems problems;
    env::Environment environment = env::load_environment(name, host, problems);
    env::refuse_unsupported(problems);
    if (env::has_errors(problems)) return std::unexpected(env::as_error(name, problems));
    FoundImage image;
    if (!environment.runs_on_host()) {
        BELAY_TRY(found, find_image(*environment.reference, configuration, import));
        image = std::move(found);
    }
    auto own = env::expand_variables(environment, image.facts.variables, host.variables, problems);
    if (env::has_errors(problems)) return std::unexpected(env::as_error(name, problems));
    warnings.insert(warnings.end(), problems.begin(), problems.end());
    EnvironmentPlan plan{.name = name,
                         .container = {},
                         .variables = {std::move(own), environment.unset, image.facts.variables},
                         .locked = {}};
    if (!environment.runs_on_host())
        plan.container = env::make_plan(
            environment, image.facts,
            {.image_file = image.file, .overlay_size = configuration.size("env.overlay_size")});
    plan.locked = lock(environment, plan.variables, image.digest);
    return plan;
}

env::VariableChanges variable_changes(const EnvironmentPlan& plan) {
    if (plan.container) return env::changes_in_container(plan.variables);
    return {.unset = plan.variables.unset, .set = plan.variables.environment};
}

core::Environment task_variables(const EnvironmentPlan& plan, const core::Environment& host) {
    return env::changed_by(variable_changes(plan), host);
}

void add_entry_variables(EnvironmentPlan& plan, const core::Environment& variables) {
    for (const auto& [name, value] : variables) plan.variables.image[name] = value;
}

}  // namespace belay::step
