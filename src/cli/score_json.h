// What `belay score` prints as JSON; the shapes are stable.
#pragma once

#include "score/compare.h"
#include "score/job_score.h"

#include <nlohmann/json.hpp>

namespace belay::cli {

nlohmann::ordered_json number_or_null(double value);
nlohmann::ordered_json to_json(const score::JobScore& job);
nlohmann::ordered_json to_json(const std::vector<score::Change>& changes);

}  // namespace belay::cli
