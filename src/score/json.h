// The score of a job as JSON, as `belay score --json` prints it and a report holds it; the shapes are stable.
#pragma once

#include "score/compare.h"
#include "score/job_score.h"

#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace belay::score {

nlohmann::ordered_json number_or_null(double value);
nlohmann::ordered_json to_json(const PartScore& part);
// All but the lists of parts and notes.
nlohmann::ordered_json summary_json(const JobScore& job);
nlohmann::ordered_json to_json(const JobScore& job);
nlohmann::ordered_json to_json(const std::vector<Change>& changes);

}  // namespace belay::score
