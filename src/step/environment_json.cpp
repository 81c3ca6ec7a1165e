#include "step/environment_json.h"

#include "env/container/plan_json.h"

#include <nlohmann/json.hpp>

namespace belay::step {

using Json = nlohmann::ordered_json;

Json to_json(const EnvironmentPlan& plan) {
    return {{"name", plan.name},
            {"container", plan.container ? env::to_json(*plan.container) : Json()},
            {"variables", env::to_json(plan.variables)},
            {"locked", plan.locked}};
}

core::Result<EnvironmentPlan> environment_from_json(const Json& json) {
    EnvironmentPlan plan{
        .name = json.at("name"), .container = {}, .variables = {}, .locked = json.at("locked")};
    BELAY_TRY(variables, env::variable_plan_from_json(json.at("variables")));
    plan.variables = std::move(variables);
    if (json.at("container").is_null()) return plan;
    BELAY_TRY(container, env::container_plan_from_json(json.at("container")));
    plan.container = std::move(container);
    return plan;
}

}  // namespace belay::step
