#include "http/server/server.h"

#include "core/fetch/http.h"
#include "core/json.h"
#include "http/server/testing/server.h"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::http {
namespace {

using ::testing::AllOf;
using testing::Answer;
using testing::get_request;
using ::testing::HasSubstr;
using testing::local_options;
using ::testing::Not;
using testing::open_route;
using testing::post_request;
using testing::RawClient;
using testing::start_server;

Task<Response> greet(Request& request) {
    auto work = request.run_blocking([&] { return std::string(request.captured("name")); });
    auto name = co_await work;
    BELAY_CO_TRY(greeting, std::move(name));
    auto loud = request.target.query.one("loud");
    BELAY_CO_TRY(wanted, std::move(loud));
    co_return Response::text("hello " + greeting + (wanted ? "!" : ""));
}

Server greeting_server(Options options = local_options()) {
    std::vector<Route> routes;
    routes.push_back(open_route(Method::kGet, "/hello/{name}", greet));
    routes.push_back(open_route(Method::kPost, "/echo", testing::echo, 1000));
    return start_server(std::move(routes), std::move(options));
}

TEST(http_server, a_request_gets_its_response) {
    const Server server = greeting_server();
    RawClient client(server.port());
    const Answer answer = client.ask(get_request("/hello/a%20b?loud"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "hello a b!");
    EXPECT_EQ(answer.headers.at("content-type"), "text/plain; charset=utf-8");
    EXPECT_EQ(answer.headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(answer.headers.count("server"), 0u);
    EXPECT_EQ(answer.headers.count("cache-control"), 0u);
    EXPECT_EQ(server.address(), "127.0.0.1");
}

TEST(http_server, a_connection_serves_request_after_request) {
    const Server server = greeting_server();
    RawClient client(server.port());
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(client.ask(get_request("/hello/x")).body, "hello x");
        EXPECT_EQ(client.ask(post_request("/echo", "some")).body, "some");
        EXPECT_EQ(client.ask(get_request("/nothing")).status, 404);
    }
    EXPECT_EQ(client.ask(get_request("/hello/x", "Connection: close\r\n")).headers.at("connection"), "close");
    EXPECT_TRUE(client.ended());
    EXPECT_EQ(server.metrics().connections_total, 1u);
}

TEST(http_server, requests_that_are_sent_ahead_are_answered_in_order) {
    const Server server = greeting_server();
    RawClient client(server.port());
    std::string ahead;
    for (int i = 0; i < 100; ++i)
        ahead += get_request("/hello/" + std::to_string(i)) + post_request("/echo", std::to_string(i));
    std::jthread sender([&] { client.send(ahead); });
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(client.read_answer().body, "hello " + std::to_string(i));
        EXPECT_EQ(client.read_answer().body, std::to_string(i));
    }
}

TEST(http_server, what_no_route_takes) {
    const Server server = greeting_server();
    RawClient client(server.port());
    const Answer missing = client.ask(get_request("/nothing"));
    EXPECT_EQ(missing.status, 404);
    EXPECT_EQ(core::parse_json(missing.body)["error"]["status"], 404);
    EXPECT_EQ(missing.headers.at("content-type"), "application/json; charset=utf-8");
    const Answer wrong_method = client.ask(get_request("/echo"));
    EXPECT_EQ(wrong_method.status, 405);
    EXPECT_EQ(wrong_method.headers.at("allow"), "POST");
    EXPECT_EQ(client.ask(get_request("/hello/x?loud&loud")).status, 400);
}

TEST(http_server, head_is_get_without_its_body) {
    const Server server = greeting_server();
    RawClient client(server.port());
    const Answer answer = client.ask("HEAD /hello/x HTTP/1.1\r\nHost: localhost\r\n\r\n", true);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.at("content-length"), "7");
    EXPECT_EQ(client.ask(get_request("/hello/y")).body, "hello y");
}

TEST(http_server, the_client_of_belay_is_served) {
    const Server server = greeting_server();
    core::fetch::HttpClient client({}, core::system_clock());
    const std::string base = "http://127.0.0.1:" + std::to_string(server.port());
    for (int i = 0; i < 3; ++i) {
        const auto response = client.get({.url = base + "/hello/curl"}, 1000);
        ASSERT_TRUE(response) << response.error().render();
        EXPECT_EQ(response->body, "hello curl");
    }
    EXPECT_EQ(client.get({.url = base + "/x"}, 1000)->status, 404);
    EXPECT_EQ(server.metrics().connections_total, 1u);
}

TEST(http_server, other_names_of_the_host_are_refused) {
    const Server server = greeting_server();
    RawClient client(server.port());
    EXPECT_EQ(client.ask("GET /hello/x HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 421);
    EXPECT_EQ(client.ask("GET /hello/x HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n").status, 200);
    EXPECT_EQ(client.ask("GET /hello/x HTTP/1.1\r\nHost: a b\r\n\r\n").status, 400);
}

TEST(http_server, pages_of_other_sites_change_nothing) {
    const Server server = greeting_server();
    RawClient client(server.port());
    EXPECT_EQ(client.ask(post_request("/echo", "x", "Origin: http://evil.example\r\n")).status, 403);
    EXPECT_EQ(client.ask(post_request("/echo", "x", "Origin: http://localhost\r\n")).status, 200);
    EXPECT_EQ(client.ask(post_request("/echo", "x")).status, 200);
}

Task<Checked<Identity>> authenticate_test(const Request& request) {
    const auto given = request.headers.find("authorization");
    if (given == "Bearer ada") co_return Identity{"ada", {"admin"}};
    co_return refuse(given ? 403 : 401, "say who you are");
}

TEST(http_server, routes_that_need_an_identity) {
    Options options = local_options();
    options.authenticate = authenticate_test;
    std::mutex mutex;
    std::vector<AccessRecord> records;
    options.access_log = [&](const AccessRecord& record) {
        std::lock_guard lock(mutex);
        records.push_back(record);
    };
    Route route = open_route(
        Method::kPost, "/who", [](Request& request) { return Response::text(request.identity->name); }, 1000);
    route.needs_identity = true;
    Server server = start_server(std::move(route), std::move(options));
    {
        RawClient client(server.port());
        const Answer nobody = client.ask(post_request("/who?secret=1", "body"));
        EXPECT_EQ(nobody.status, 401);
        EXPECT_EQ(nobody.headers.at("www-authenticate"), "Bearer");
        EXPECT_EQ(client.ask(post_request("/who", "body", "Authorization: Bearer eve\r\n")).status, 403);
        const Answer ada = client.ask(post_request("/who?secret=1", "body", "Authorization: Bearer ada\r\n"));
        EXPECT_EQ(ada.body, "ada");
        EXPECT_EQ(ada.headers.at("cache-control"), "no-store");
    }
    server.stop(std::chrono::minutes(1));
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[0].status, 401);
    EXPECT_EQ(records[0].user, "");
    EXPECT_EQ(records[2].user, "ada");
    EXPECT_EQ(records[2].path, "/who");
    EXPECT_EQ(records[2].pattern, "/who");
    EXPECT_EQ(records[2].method, "POST");
    EXPECT_EQ(records[2].peer, "127.0.0.1");
    EXPECT_EQ(records[2].received_bytes, 4u);
    EXPECT_GT(records[2].sent_bytes, 3u);
    EXPECT_TRUE(records[2].whole);
}

TEST(http_server, a_handler_that_fails_gives_500_and_no_details) {
    std::vector<Route> routes;
    routes.push_back(open_route(Method::kGet, "/throws",
                                [](Request&) -> Response { throw std::runtime_error("secret"); }));
    routes.push_back(open_route(Method::kGet, "/error",
                                [](Request&) -> Response { return core::system_error("secret"); }));
    routes.push_back(open_route(Method::kGet, "/header",
                                [](Request&) { return Response::text("x").with("x", "a\r\nb"); }));
    routes.push_back(open_route(Method::kGet, "/blocking", [](Request& request) -> Task<Response> {
        auto work = request.run_blocking([]() -> int { throw std::runtime_error("secret"); });
        auto value = co_await work;
        co_return Response::text(std::to_string(value.value_or(0)));
    }));
    const Server server = start_server(std::move(routes));
    RawClient client(server.port());
    for (const std::string_view target : {"/throws", "/error", "/header", "/blocking"}) {
        const Answer answer = client.ask(get_request(target));
        EXPECT_EQ(answer.status, 500) << target;
        EXPECT_THAT(answer.body, AllOf(HasSubstr("\"error\""), Not(HasSubstr("secret"))));
    }
}

TEST(http_server, what_was_done_is_counted) {
    Server server = greeting_server();
    {
        RawClient client(server.port());
        client.ask(get_request("/hello/x"));
        client.ask(get_request("/hello/x"));
        client.ask(get_request("/nothing"));
        client.ask(get_request("/hello/x?a=%"));
        EXPECT_EQ(server.metrics().connections_open, 1u);
    }
    server.stop(std::chrono::minutes(1));
    const Metrics metrics = server.metrics();
    ASSERT_EQ(metrics.routes.size(), 3u);
    EXPECT_EQ(metrics.routes[0].pattern, "/hello/{name}");
    EXPECT_EQ(metrics.routes[0].requests_by_status, (std::map<int, uint64_t>{{200, 2}}));
    EXPECT_EQ(metrics.routes[2].requests_by_status, (std::map<int, uint64_t>{{400, 1}, {404, 1}}));
    EXPECT_GT(metrics.received_bytes, 100u);
    EXPECT_GT(metrics.sent_bytes, 100u);
    EXPECT_EQ(metrics.connections_open, 0u);
}

TEST(http_server, options_that_cannot_be_served) {
    auto error_of = [](Options options, bool needs_identity = false) {
        std::vector<Route> routes;
        routes.push_back(open_route(Method::kGet, "/", [](Request&) { return Response(); }));
        routes[0].needs_identity = needs_identity;
        const auto server = Server::start(std::move(options), Router::create(std::move(routes)).value());
        return server ? std::string() : server.error().message();
    };
    Options options = local_options();
    EXPECT_EQ(error_of(options), "");
    EXPECT_THAT(error_of(options, true), HasSubstr("identity"));
    options.hosts = {};
    EXPECT_THAT(error_of(options), HasSubstr("name"));
    options.hosts = {"Localhost:80"};
    EXPECT_THAT(error_of(options), HasSubstr("host"));
    options = local_options();
    options.address = "localhost";
    EXPECT_THAT(error_of(options), HasSubstr("numeric"));
    options = local_options();
    options.limits.idle_timeout = {};
    EXPECT_THAT(error_of(options), HasSubstr("timeout"));
    options = local_options();
    options.tls = TlsFiles{"/nonexistent/certificate", "/nonexistent/key"};
    EXPECT_THAT(error_of(options), HasSubstr("/nonexistent/certificate"));
    const Server first = greeting_server();
    options = local_options();
    options.port = first.port();
    EXPECT_THAT(error_of(options), HasSubstr("cannot listen"));
}

}  // namespace
}  // namespace belay::http
