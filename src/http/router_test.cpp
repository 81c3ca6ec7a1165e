#include "http/router.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Route route_of(Method method, std::string pattern, std::vector<std::string> names = {}) {
    Route route{.method = method,
                .pattern = std::move(pattern),
                .handler = [](Request&) { return Response(); },
                .doc = "x"};
    for (std::string& name : names) route.parameters.push_back({std::move(name), Place::kPath, "x"});
    return route;
}

Router example_router() {
    std::vector<Route> routes;
    routes.push_back(route_of(Method::kGet, "/{file:path}", {"file"}));
    routes.push_back(route_of(Method::kGet, "/jobs/{job}", {"job"}));
    routes.push_back(route_of(Method::kGet, "/jobs/{number:number}", {"number"}));
    routes.push_back(route_of(Method::kDelete, "/jobs/{id:number}", {"id"}));
    routes.push_back(route_of(Method::kPost, "/jobs/search"));
    routes.push_back(route_of(Method::kGet, "/"));
    auto router = Router::create(std::move(routes));
    EXPECT_TRUE(router) << router.error().render();
    return std::move(*router);
}

// "GET /jobs/{job}" or the status.
std::string found_by(const Router& router, Method method, std::string_view target) {
    const auto match = router.find(method, parse_target(target).value());
    return match ? match->route->pattern : std::to_string(match.error().status);
}

TEST(http, the_most_literal_pattern_takes_a_request) {
    const Router router = example_router();
    EXPECT_EQ(found_by(router, Method::kGet, "/"), "/");
    EXPECT_EQ(found_by(router, Method::kGet, "/jobs/17"), "/jobs/{number:number}");
    EXPECT_EQ(found_by(router, Method::kGet, "/jobs/017"), "/jobs/{job}");
    EXPECT_EQ(found_by(router, Method::kGet, "/jobs/99999999999999999999"), "/jobs/{job}");
    EXPECT_EQ(found_by(router, Method::kDelete, "/jobs/0"), "/jobs/{id:number}");
    EXPECT_EQ(found_by(router, Method::kPost, "/jobs/search"), "/jobs/search");
    EXPECT_EQ(found_by(router, Method::kGet, "/jobs"), "/{file:path}");
    EXPECT_EQ(found_by(router, Method::kGet, "/jobs/1/x"), "/{file:path}");
    EXPECT_EQ(found_by(router, Method::kGet, "/a/"), "/{file:path}");
}

TEST(http, captures_are_decoded) {
    const Router router = example_router();
    EXPECT_THAT(router.find(Method::kGet, parse_target("/jobs/a%20b").value())->captures,
                ElementsAre(Pair("job", "a b")));
    EXPECT_THAT(router.find(Method::kDelete, parse_target("/jobs/17").value())->captures,
                ElementsAre(Pair("id", "17")));
    EXPECT_THAT(router.find(Method::kGet, parse_target("/a/b/c").value())->captures,
                ElementsAre(Pair("file", "a/b/c")));
    Request request;
    request.captures = {{"id", "17"}};
    EXPECT_EQ(request.captured("id"), "17");
    EXPECT_EQ(request.captured_number("id"), 17u);
    EXPECT_EQ(request.captured("other"), "");
}

TEST(http, a_method_that_is_not_there_is_answered_with_those_that_are) {
    const Router router = example_router();
    EXPECT_EQ(router.find(Method::kPut, parse_target("/jobs/17").value()).error().allow, "GET, HEAD, DELETE");
    // The pattern that fits best decides, also where another one has the method.
    EXPECT_EQ(router.find(Method::kGet, parse_target("/jobs/search").value()).error().allow, "POST");
    EXPECT_EQ(found_by(router, Method::kHead, "/jobs/search"), "405");
    EXPECT_EQ(found_by(router, Method::kHead, "/jobs/17"), "/jobs/{number:number}");
    EXPECT_EQ(found_by(router, Method::kOptions, "/"), "405");
}

TEST(http, what_no_pattern_fits_is_not_found) {
    std::vector<Route> routes;
    routes.push_back(route_of(Method::kGet, "/jobs"));
    const Router router = Router::create(std::move(routes)).value();
    EXPECT_EQ(found_by(router, Method::kGet, "/"), "404");
    EXPECT_EQ(found_by(router, Method::kGet, "/job"), "404");
    EXPECT_EQ(found_by(router, Method::kGet, "/Jobs"), "404");
    const auto with_slash = router.find(Method::kGet, parse_target("/jobs/").value());
    ASSERT_FALSE(with_slash);
    EXPECT_EQ(with_slash.error().status, 404);
    EXPECT_THAT(with_slash.error().hint, HasSubstr("last /"));
}

TEST(http, patterns_that_are_wrong) {
    for (const char* pattern : {"", "a", "/a//b", "/a/", "/{", "/{}", "/{a", "/{A}", "/{a:text}",
                                "/{a:number:x}", "/{a:path}/b", "/a{b}", "/a%20b", "/a?b"})
        EXPECT_FALSE(parse_pattern(pattern)) << pattern;
    EXPECT_EQ(parse_pattern("/a/{b}/{c:number}/{d:path}").value(),
              (std::vector<Segment>{{SegmentKind::kWord, "a"},
                                    {SegmentKind::kText, "b"},
                                    {SegmentKind::kNumber, "c"},
                                    {SegmentKind::kRest, "d"}}));
}

TEST(http, a_table_of_routes_is_checked) {
    auto error_of = [](Route a, Route b) {
        std::vector<Route> routes;
        routes.push_back(std::move(a));
        routes.push_back(std::move(b));
        const auto router = Router::create(std::move(routes));
        return router ? std::string() : router.error().message();
    };
    const Route good = route_of(Method::kGet, "/a");
    EXPECT_EQ(error_of(good, route_of(Method::kPut, "/a")), "");
    EXPECT_THAT(error_of(good, good), HasSubstr("two routes"));
    EXPECT_THAT(error_of(route_of(Method::kGet, "/{x}", {"x"}), route_of(Method::kGet, "/{y}", {"y"})),
                HasSubstr("two routes"));
    EXPECT_THAT(error_of(good, route_of(Method::kGet, "/{x}")), HasSubstr("parameters"));
    EXPECT_THAT(error_of(good, route_of(Method::kGet, "/b", {"x"})), HasSubstr("parameters"));
    EXPECT_THAT(error_of(good, route_of(Method::kGet, "/{x}/{x}", {"x"})), HasSubstr("twice"));
    Route no_handler = route_of(Method::kGet, "/b");
    no_handler.handler = {};
    EXPECT_THAT(error_of(good, std::move(no_handler)), HasSubstr("handler"));
    Route no_doc = route_of(Method::kGet, "/b");
    no_doc.doc.clear();
    EXPECT_THAT(error_of(good, std::move(no_doc)), HasSubstr("documentation"));
}

}  // namespace
}  // namespace belay::http
