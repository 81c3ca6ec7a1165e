// The description of an interface, made of its route table, as OpenAPI 3.1 has it (https://spec.openapis.org/oas/v3.1.0). Pure.
#pragma once

#include "http/router.h"

#include <span>
#include <string>

namespace belay::http {

struct ApiInfo {
    std::string title;
    std::string version;
    std::string description = {};
};

// A JSON object. Errors: kBadInput for a pattern that cannot be read, or two routes of one operation id.
core::Result<std::string> openapi_json(std::span<const Route> routes, const ApiInfo& info);

// By which programs made of the description call a route: "get_api_v1_jobs_job_report".
std::string operation_id(const Route& route);

}  // namespace belay::http
