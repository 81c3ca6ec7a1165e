#include "http/openapi.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::http {
namespace {

Route described_route(Method method, std::string pattern, std::vector<ParameterDoc> parameters = {}) {
    return {.method = method,
            .pattern = std::move(pattern),
            .handler = [](Request&) { return Response::empty(); },
            .doc = "what it does",
            .parameters = std::move(parameters)};
}

nlohmann::json describe(const std::vector<Route>& routes) {
    const auto text = openapi_json(routes, {.title = "belayd", .version = "1.2.3"});
    EXPECT_TRUE(text) << (text ? "" : text.error().render());
    return nlohmann::json::parse(text.value_or("null"));
}

TEST(openapi, a_route_stands_under_its_path_and_method) {
    std::vector<Route> routes = {described_route(Method::kGet, "/api/v1/jobs/{job:number}/files/{name:path}",
                                                 {{"job", Place::kPath, "its number"},
                                                  {"name", Place::kPath, "its name"},
                                                  {"lang", Place::kQuery, "language", true},
                                                  {"page", Place::kQuery, "of the list"}})};
    const auto document = describe(routes);
    EXPECT_EQ(document.at("openapi"), "3.1.0");
    EXPECT_EQ(document.at("info").at("title"), "belayd");
    EXPECT_EQ(document.at("info").at("version"), "1.2.3");
    const auto operation = document.at("paths").at("/api/v1/jobs/{job}/files/{name}").at("get");
    EXPECT_EQ(operation.at("operationId"), "get_api_v1_jobs_job_files_name");
    EXPECT_EQ(operation.at("summary"), "what it does");
    const auto parameters = operation.at("parameters");
    ASSERT_EQ(parameters.size(), 4u);
    EXPECT_EQ(parameters[0].at("in"), "path");
    EXPECT_EQ(parameters[0].at("schema").at("type"), "integer");
    EXPECT_TRUE(parameters[0].at("required"));
    EXPECT_EQ(parameters[1].at("schema").at("type"), "string");
    EXPECT_EQ(parameters[2].at("in"), "query");
    EXPECT_TRUE(parameters[2].at("required"));
    EXPECT_FALSE(parameters[3].at("required"));
}

TEST(openapi, a_route_that_is_open_says_so) {
    std::vector<Route> routes = {described_route(Method::kGet, "/healthz"),
                                 described_route(Method::kGet, "/jobs")};
    routes[0].needs_identity = false;
    const auto paths = describe(routes).at("paths");
    EXPECT_TRUE(paths.at("/healthz").at("get").at("security").empty());
    EXPECT_EQ(paths.at("/jobs").at("get").at("security").size(), 1u);
}

TEST(openapi, bodies_have_their_media_types) {
    std::vector<Route> routes = {described_route(Method::kPost, "/blocks"),
                                 described_route(Method::kDelete, "/blocks")};
    routes[0].body_limit = 1000;
    routes[0].takes = "application/octet-stream";
    routes[1].gives = "";
    const auto path = describe(routes).at("paths").at("/blocks");
    const auto body = path.at("post").at("requestBody");
    EXPECT_TRUE(body.at("content").contains("application/octet-stream"));
    EXPECT_EQ(body.at("description"), "at most 1000 bytes");
    EXPECT_TRUE(path.at("post").at("responses").at("200").at("content").contains("application/json"));
    EXPECT_FALSE(path.at("delete").contains("requestBody"));
    EXPECT_FALSE(path.at("delete").at("responses").at("204").contains("content"));
}

TEST(openapi, every_reference_leads_somewhere) {
    const auto document = describe({described_route(Method::kGet, "/a")});
    EXPECT_TRUE(document.at("components").at("responses").contains("Error"));
    EXPECT_TRUE(document.at("components").at("schemas").contains("Error"));
    EXPECT_TRUE(document.at("components").at("securitySchemes").contains("bearer"));
    EXPECT_EQ(document.at("paths").at("/a").at("get").at("responses").at("default").at("$ref"),
              "#/components/responses/Error");
}

TEST(openapi, two_routes_of_one_operation_id_are_refused) {
    const std::vector<Route> routes = {described_route(Method::kGet, "/a_b"),
                                       described_route(Method::kGet, "/a/b")};
    const auto text = openapi_json(routes, {.title = "t", .version = "1"});
    ASSERT_FALSE(text);
    EXPECT_THAT(text.error().message(), ::testing::HasSubstr("get_a_b"));
}

}  // namespace
}  // namespace belay::http
