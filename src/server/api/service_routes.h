// What a server says of itself to those who run it, without an identity and without a word about jobs: whether it lives, whether
// it can serve, what it has done, and what its interface is.
#pragma once

#include "core/error.h"
#include "http/openapi.h"
#include "http/router.h"
#include "metrics/model.h"

#include <functional>
#include <string>
#include <vector>

namespace belay::server {

// Something without which it cannot serve. `check` may block; it is called at every GET /readyz.
struct ReadyCheck {
    std::string name;
    std::function<core::Result<>()> check;
};

struct ServiceFacts {
    std::vector<ReadyCheck> checks = {};
    std::function<std::vector<metrics::Family>()> families = {};  // for GET /metrics; must not block
    std::string openapi = {};                                     // openapi_json() of all routes
};

// GET /healthz, /readyz, /metrics and /api/v1/openapi.json.
std::vector<http::Route> service_routes(ServiceFacts facts);

}  // namespace belay::server
