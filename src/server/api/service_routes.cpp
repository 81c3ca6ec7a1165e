#include "server/api/service_routes.h"

#include "core/log.h"
#include "http/blocking.h"
#include "metrics/text_encoder.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

namespace belay::server {

using http::Request;
using http::Response;

namespace {

// Which check failed stands in the answer; why, in the log alone: it may name hosts and files.
Response readiness(const ServiceFacts& facts) {
    nlohmann::ordered_json checks = nlohmann::ordered_json::object();
    bool is_ready = true;
    for (const ReadyCheck& one : facts.checks) {
        const auto done = one.check();
        if (!done) core::log_warning("not ready: {}: {}", one.name, done.error().headline());
        checks[one.name] = done ? "ok" : "failed";
        is_ready = is_ready && done;
    }
    const nlohmann::ordered_json answer = {{"ready", is_ready}, {"checks", checks}};
    return Response::json(answer.dump() + "\n", is_ready ? 200 : 503);
}

Response metrics_response(const ServiceFacts& facts, const Request& request) {
    const metrics::TextForm form = metrics::negotiate(request.headers.find("accept").value_or(""));
    BELAY_TRY(text, metrics::encode_text(facts.families(), form));
    return Response::bytes(std::move(text), metrics::content_type(form)).with("vary", "Accept");
}

http::Route open_get(std::string pattern, http::Handler handler, std::string doc, std::string gives) {
    return {.method = http::Method::kGet,
            .pattern = std::move(pattern),
            .handler = std::move(handler),
            .needs_identity = false,
            .doc = std::move(doc),
            .gives = std::move(gives)};
}

}  // namespace

std::vector<http::Route> service_routes(ServiceFacts given) {
    const auto facts = std::make_shared<const ServiceFacts>(std::move(given));
    auto ready = http::blocking([facts](Request&) { return readiness(*facts); });
    std::vector<http::Route> routes;
    routes.push_back(open_get(
        "/healthz", [](Request&) { return Response::text("ok\n"); }, "Whether the server answers at all.",
        "text/plain"));
    routes.push_back(
        open_get("/readyz", ready, "Whether it can serve: its state and its disk.", "application/json"));
    routes.push_back(open_get(
        "/metrics", [facts](Request& request) { return metrics_response(*facts, request); },
        "What the server has done, for Prometheus.", "application/openmetrics-text"));
    routes.push_back(open_get(
        "/api/v1/openapi.json", [facts](Request&) { return Response::json(*facts->openapi); },
        "The description of this interface (OpenAPI 3.1).", "application/json"));
    return routes;
}

core::Result<std::vector<http::Route>> with_service_routes(std::vector<http::Route> routes,
                                                           ServiceFacts facts, const http::ApiInfo& info) {
    const auto openapi = std::make_shared<std::string>();
    facts.openapi = openapi;
    for (http::Route& route : service_routes(std::move(facts))) routes.push_back(std::move(route));
    BELAY_TRY(description, http::openapi_json(routes, info));
    *openapi = std::move(description);
    return routes;
}

}  // namespace belay::server
