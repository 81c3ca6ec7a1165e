#include "core/json.h"
#include "http/server/testing/server.h"
#include "metrics/text_encoder.h"
#include "server/api/http_families.h"
#include "server/api/service_routes.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::atomic<bool> disk_is_full{false};

http::Server service(std::vector<metrics::Family> families = {}) {
    return http::testing::start_server(
        service_routes({.checks = {{"state", [] { return core::Result<>(); }},
                                   {"disk",
                                    []() -> core::Result<> {
                                        if (!disk_is_full) return {};
                                        return core::system_error("/secret/place is full");
                                    }}},
                        .families = [families] { return families; },
                        .openapi = std::make_shared<const std::string>("{\"openapi\":\"3.1.0\"}")}));
}

http::testing::Answer ask(const http::Server& server, std::string_view target, std::string_view more = "") {
    http::testing::RawClient client(server.port());
    return client.ask(http::testing::get_request(target, more));
}

TEST(service_routes, need_no_identity) {
    const http::Server server = service();
    EXPECT_EQ(ask(server, "/healthz").body, "ok\n");
    EXPECT_EQ(ask(server, "/api/v1/openapi.json").body, "{\"openapi\":\"3.1.0\"}");
}

TEST(service_routes, the_description_has_all_routes) {
    std::vector<http::Route> own = {http::testing::open_route(
        http::Method::kGet, "/own", [](http::Request&) { return http::Response::text("own"); })};
    auto all =
        with_service_routes(std::move(own), {.families = [] { return std::vector<metrics::Family>(); }},
                            {.title = "t", .version = "1"});
    ASSERT_TRUE(all) << all.error().render();
    const http::Server server = http::testing::start_server(std::move(*all));
    const auto paths = nlohmann::json::parse(ask(server, "/api/v1/openapi.json").body).at("paths");
    for (const char* path : {"/own", "/healthz", "/readyz", "/metrics", "/api/v1/openapi.json"})
        EXPECT_TRUE(paths.contains(path)) << path;
}

TEST(service_routes, readiness_says_which_check_failed_but_not_why) {
    const http::Server server = service();
    disk_is_full = false;
    const auto ready = ask(server, "/readyz");
    EXPECT_EQ(ready.status, 200);
    EXPECT_TRUE(nlohmann::json::parse(ready.body).at("ready"));
    disk_is_full = true;
    const auto full = ask(server, "/readyz");
    disk_is_full = false;
    EXPECT_EQ(full.status, 503);
    EXPECT_EQ(nlohmann::json::parse(full.body).at("checks").at("disk"), "failed");
    EXPECT_EQ(nlohmann::json::parse(full.body).at("checks").at("state"), "ok");
    EXPECT_THAT(full.body, Not(HasSubstr("secret")));
}

TEST(service_routes, metrics_come_in_the_form_that_is_asked_for) {
    const http::Server server =
        service({{.name = "belay_server_jobs", .help = "jobs", .samples = {{.labels = {}, .value = 3.0}}}});
    const auto plain = ask(server, "/metrics");
    EXPECT_THAT(plain.headers.at("content-type"), HasSubstr("version=0.0.4"));
    EXPECT_THAT(plain.body, HasSubstr("belay_server_jobs 3"));
    EXPECT_THAT(plain.body, Not(HasSubstr("# EOF")));
    const auto open = ask(server, "/metrics", "Accept: application/openmetrics-text; version=1.0.0\r\n");
    EXPECT_THAT(open.headers.at("content-type"), HasSubstr("openmetrics-text"));
    EXPECT_THAT(open.body, HasSubstr("# EOF"));
}

TEST(http_families, counts_of_a_server_are_valid_metrics) {
    http::Metrics counted;
    counted.routes = {
        {.method = "GET", .pattern = "/a/{b}", .requests_by_status = {{200, 5}, {404, 2}}, .seconds = 1.5},
        {.method = "", .pattern = "", .requests_by_status = {{400, 1}}},
        {.method = "PUT", .pattern = "/never"}};
    counted.routes[0].requests_by_seconds[0] = 6;
    counted.routes[0].requests_by_seconds.back() = 1;
    counted.sent_bytes = 77;
    const auto families = http_families(counted);
    const auto checked = metrics::check(families);
    ASSERT_TRUE(checked) << checked.error().render();
    const std::string text = metrics::encode_text(families, metrics::TextForm::kPrometheus).value();
    EXPECT_THAT(text, HasSubstr(R"(belay_http_requests_total{method="GET",route="/a/{b}",status="404"} 2)"));
    EXPECT_THAT(text, HasSubstr(R"(belay_http_requests_total{route="none",status="400"} 1)"));
    EXPECT_THAT(text,
                HasSubstr(R"(belay_http_request_seconds_bucket{method="GET",route="/a/{b}",le="0.001"} 6)"));
    EXPECT_THAT(text, HasSubstr(R"(belay_http_request_seconds_count{method="GET",route="/a/{b}"} 7)"));
    EXPECT_THAT(text, HasSubstr("belay_http_sent_bytes_total 77"));
    EXPECT_THAT(text, Not(HasSubstr("/never")));
}

}  // namespace
}  // namespace belay::server
