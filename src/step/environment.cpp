#include "step/environment.h"

#include "core/work.h"
#include "env/json.h"
#include "image/local_image.h"
#include "image/store_settings.h"
#include "step/environment_json.h"

#include <nlohmann/json.hpp>

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
            return core::bad_input("env.search_path: \"{}\" is not an absolute path", directory)
                .hint("correct it in " + configuration.origin("env.search_path"));
        directories.emplace_back(directory);
    }
    return env::this_host(std::move(directories));
}

namespace {

// What the files of definitions and the store say.
struct Planned {
    std::optional<EnvironmentPlan> plan;  // nothing while the image is not here
    std::string missing_image;
    std::string warnings;
};

// In the store, or a file; nothing if it must be imported first.
Result<std::optional<image::Image>> look_for_image(const image::Reference& reference,
                                                   const core::Configuration& configuration) {
    if (reference.is_file()) {
        // The store is not even looked for: a file needs none.
        BELAY_TRY(local, image::local_image(reference.file));
        return std::optional(std::move(local));
    }
    BELAY_TRY(store, image::open_store(configuration, core::current_environment()));
    return store.find(reference);
}

Result<Planned> plan_from_files(const std::string& name, const core::Configuration& configuration) {
    BELAY_TRY(host, environment_host(configuration));
    env::Problems problems;
    env::Environment environment = env::load_environment(name, host, problems);
    env::refuse_unsupported(problems);
    if (env::has_errors(problems)) return std::unexpected(env::as_error(name, problems));
    std::optional<image::Image> image;
    if (!environment.runs_on_host()) {
        BELAY_TRY(found, look_for_image(*environment.reference, configuration));
        if (!found)
            return Planned{
                .plan = {}, .missing_image = image::to_text(*environment.reference), .warnings = {}};
        image = std::move(found);
    }
    const env::ImageFacts facts = image ? facts_of(image->config) : env::ImageFacts{};
    auto own = env::expand_variables(environment, facts.variables, host.variables, problems);
    if (env::has_errors(problems)) return std::unexpected(env::as_error(name, problems));
    EnvironmentPlan plan{.name = name,
                         .container = {},
                         .variables = {std::move(own), environment.unset, facts.variables},
                         .locked = {}};
    if (image)
        plan.container = env::make_plan(
            environment, facts,
            {.image_file = image->squashfs.string(), .overlay_size = configuration.size("env.overlay_size")});
    plan.locked = lock(environment, plan.variables, image ? image->digest : "");
    return Planned{.plan = std::move(plan), .missing_image = {}, .warnings = env::render(problems)};
}

// CBOR keeps bytes that are not UTF-8.
std::string encode(const Planned& planned) {
    nlohmann::ordered_json json = {{"plan", planned.plan ? to_json(*planned.plan) : nlohmann::ordered_json()},
                                   {"missing_image", planned.missing_image},
                                   {"warnings", planned.warnings}};
    std::string bytes;
    nlohmann::ordered_json::to_cbor(json, bytes);
    return bytes;
}

Result<Planned> decode(std::string_view bytes) {
    try {
        auto json = nlohmann::ordered_json::from_cbor(bytes);
        Planned planned{
            .plan = {}, .missing_image = json.at("missing_image"), .warnings = json.at("warnings")};
        if (json.at("plan").is_null()) return planned;
        BELAY_TRY(plan, environment_from_json(json.at("plan")));
        planned.plan = std::move(plan);
        return planned;
    } catch (const nlohmann::ordered_json::exception& exception) {
        return core::system_error("the plan of the environment was received incompletely: {}",
                                  exception.what());
    }
}

// Directories of definitions and the store may be on file servers that do not answer.
Result<Planned> plan_in_time(const std::string& name, const core::Configuration& configuration) {
    BELAY_TRY(bytes, read_in_time(name, [&]() -> Result<std::string> {
                  BELAY_TRY(planned, plan_from_files(name, configuration));
                  return encode(planned);
              }));
    return decode(bytes);
}

}  // namespace

Result<std::string> read_in_time(const std::string& name, const std::function<Result<std::string>()>& read) {
    return core::run_within(kPlanningTime, {.what = "reading the environment " + name}, read);
}

Result<EnvironmentPlan> plan_environment(const std::string& name, const core::Configuration& configuration,
                                         const Importer& import, std::string& warnings) {
    BELAY_TRY(planned, plan_in_time(name, configuration));
    if (!planned.plan) {
        BELAY_TRY(reference, image::parse_reference(planned.missing_image));
        BELAY_CHECK(import(configuration, reference));
        BELAY_TRY(again, plan_in_time(name, configuration));
        planned = std::move(again);
    }
    if (!planned.plan)
        return core::system_error("the image {} was imported, and is not in the store", planned.missing_image)
            .hint("was it removed meanwhile? try again");
    warnings += planned.warnings;
    return std::move(*planned.plan);
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
