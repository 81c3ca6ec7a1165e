// A job as the API shows it. Pure.
#pragma once

#include "server/state/job.h"

#include <nlohmann/json_fwd.hpp>

namespace belay::server {

// What is not known is null.
nlohmann::ordered_json job_json(const Job& job);

}  // namespace belay::server
