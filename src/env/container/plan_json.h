// A plan on its way from whoever reads the environment to the nodes that execute it.
#pragma once

#include "core/error.h"
#include "env/container/plan.h"

#include <nlohmann/json_fwd.hpp>

namespace belay::env {

nlohmann::ordered_json to_json(const ContainerPlan& plan);
nlohmann::ordered_json to_json(const VariablePlan& plan);

// Errors: kBadInput, naming the field: these are read by another process than wrote them.
core::Result<ContainerPlan> container_plan_from_json(const nlohmann::ordered_json& json);
core::Result<VariablePlan> variable_plan_from_json(const nlohmann::ordered_json& json);

}  // namespace belay::env
