// The plan of an environment as JSON: part of a step's plan, and the answer of the process that made it.
#pragma once

#include "step/environment.h"

#include <nlohmann/json_fwd.hpp>

namespace belay::step {

nlohmann::ordered_json to_json(const EnvironmentPlan& plan);
// Throws nlohmann's exceptions where a field is missing or has another type. Errors: kBadInput.
core::Result<EnvironmentPlan> environment_from_json(const nlohmann::ordered_json& json);

}  // namespace belay::step
