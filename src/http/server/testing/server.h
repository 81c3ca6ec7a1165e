// Servers for tests.
#pragma once

#include "http/server/server.h"
#include "http/server/testing/raw_client.h"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace belay::http::testing {

inline Route open_route(Method method, std::string pattern, Handler handler, uint64_t body_limit = 0) {
    Route route{.method = method,
                .pattern = std::move(pattern),
                .handler = std::move(handler),
                .body_limit = body_limit,
                .needs_identity = false,
                .doc = "of a test"};
    const std::vector<Segment> segments = parse_pattern(route.pattern).value();
    for (const Segment& segment : segments)
        if (segment.kind != SegmentKind::kWord)
            route.parameters.push_back({segment.text, Place::kPath, "of a test"});
    return route;
}

inline Options local_options(size_t threads = 2) {
    Options options;
    options.hosts = {"127.0.0.1", "localhost"};
    options.threads = threads;
    return options;
}

inline Server start_server(std::vector<Route> routes, Options options = local_options()) {
    auto router = Router::create(std::move(routes));
    if (!router) ADD_FAILURE() << router.error().render();
    auto server = Server::start(std::move(options), std::move(router.value()));
    if (!server) ADD_FAILURE() << server.error().render();
    return std::move(server.value());
}

// Of one route.
inline Server start_server(Route route, Options options = local_options()) {
    std::vector<Route> routes;
    routes.push_back(std::move(route));
    return start_server(std::move(routes), std::move(options));
}

inline std::string get_request(std::string_view target, std::string_view more = "") {
    return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) + "\r\n";
}

inline std::string post_request(std::string_view target, std::string_view body, std::string_view more = "") {
    return "POST " + std::string(target) +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           std::string(more) + "\r\n" + std::string(body);
}

// Until the server has seen what a client may have noticed first.
inline Metrics wait_for_metrics(const Server& server, const std::function<bool(const Metrics&)>& seen) {
    for (;;) {
        const Metrics metrics = server.metrics();
        if (seen(metrics)) return metrics;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}
inline void wait_for_timeouts(const Server& server, uint64_t count) {
    wait_for_metrics(server,
                     [&](const Metrics& metrics) { return metrics.connections_timed_out_total == count; });
}
inline void wait_until_open(const Server& server, uint64_t count) {
    wait_for_metrics(server, [&](const Metrics& metrics) { return metrics.connections_open == count; });
}

// What a handler answers in many of these tests: the body that it got.
inline Response echo(Request& request) {
    return Response::text(request.body);
}

}  // namespace belay::http::testing
