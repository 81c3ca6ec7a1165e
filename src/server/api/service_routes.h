// What a server says of itself to those who run it, without an identity and without a word about jobs: whether it lives, whether
// it can serve, what it has done, and what its interface is.
#pragma once

#include "core/error.h"
#include "http/openapi.h"
#include "http/router.h"
#include "metrics/model.h"

#include <functional>
#include <memory>
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
    std::shared_ptr<const std::string> openapi = {};              // openapi_json() of all routes
};

// GET /healthz, /readyz, /metrics and /api/v1/openapi.json.
std::vector<http::Route> service_routes(ServiceFacts facts);
// These routes and those, with the description of all of them. Errors: of openapi_json().
core::Result<std::vector<http::Route>> with_service_routes(std::vector<http::Route> routes,
                                                           ServiceFacts facts, const http::ApiInfo& info);

}  // namespace belay::server
