// What people may have of what is kept about them, who looked at what, and links to one job.
#pragma once

#include "http/router.h"
#include "server/api/gate.h"

#include <vector>

namespace belay::server {

// POST /api/v1/jobs/{job}/links, GET /api/v1/users/{user}/export, GET /api/v1/audit. `gate` must outlive the routes.
std::vector<http::Route> people_routes(const Gate& gate);

}  // namespace belay::server
