// All of it behind a real server on this machine.
#include "http/server/server.h"
#include "http/server/testing/raw_client.h"
#include "server/login/testing.h"
#include "server/state/link_store.h"

#include <chrono>

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using http::testing::Answer;
using http::testing::RawClient;
using ::testing::HasSubstr;

TEST_P(OnLogin, requests_over_the_network_are_recognised) {
    LoginRoutes login(state(), authenticator(), login_options, clock);
    TokenRoutes tokens(state(), authenticator(), {}, clock);
    std::vector<http::Route> routes = login.routes();
    for (http::Route& route : tokens.routes()) routes.push_back(std::move(route));
    http::Options served{.hosts = {"127.0.0.1", kHost}};
    served.authenticate = authenticator().for_server();
    auto server = http::Server::start(std::move(served), http::Router::create(std::move(routes)).value());
    ASSERT_TRUE(server) << server.error().render();
    RawClient client(server->port());
    const auto get = [&](const std::string& target, const std::string& fields) {
        return client.ask("GET " + target + " HTTP/1.1\r\nHost: " + kHost + "\r\n" + fields + "\r\n");
    };
    const std::string token = token_for({.user = "ann"});
    const Answer nobody = get("/api/v1/me", "");
    EXPECT_EQ(nobody.status, 401);
    EXPECT_EQ(get("/api/v1/me", "Authorization: Bearer " + make_token()->text() + "\r\n").body, nobody.body);
    for (int i = 0; i < 3; ++i) {
        const Answer me = get("/api/v1/me", "Authorization: Bearer " + token + "\r\n");
        EXPECT_EQ(me.status, 200);
        EXPECT_EQ(core::parse_json(me.body).at("user"), "ann");
        EXPECT_EQ(me.headers.at("cache-control"), "no-store");
    }
    const MungeRequest asked{.host = kHost, .method = "GET", .path = "/api/v1/me"};
    const std::string credential_field = "Authorization: Munge " + credential(1001, asked) + "\r\n";
    EXPECT_EQ(core::parse_json(get("/api/v1/me", credential_field).body).at("user"), "bob");
    EXPECT_EQ(get("/api/v1/me", credential_field).status, 401) << "replayed";

    put(job_number(1, "ann"));
    const auto link = got(
        create_link(state(), {.job = "c/1", .made_by = "ann", .expires = clock.now() + std::chrono::hours(2)},
                    clock.now(), soon()));
    const Answer taken = get("/auth/link/" + link.text, "");
    EXPECT_EQ(taken.status, 303);
    EXPECT_EQ(taken.headers.at("cache-control"), "no-store");
    EXPECT_EQ(taken.headers.at("referrer-policy"), "no-referrer");
    const std::string cookie = taken.headers.at("set-cookie");
    const Answer seen = get("/api/v1/me", "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n");
    EXPECT_EQ(seen.status, 200) << seen.body;
    EXPECT_EQ(core::parse_json(seen.body).at("job"), "c/1");

    const std::string body = R"({"label":"x"})";
    const Answer made =
        client.ask("POST /api/v1/tokens HTTP/1.1\r\nHost: " + kHost + "\r\nAuthorization: Bearer " + token +
                   "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_EQ(made.status, 201) << made.body;
    server->stop(std::chrono::minutes(1));
}

}  // namespace
}  // namespace belay::server
