// Requests that another server in front could read differently: each is refused, and nothing behind it is taken for a request.
#include "http/server/testing/server.h"

#include <atomic>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::http {
namespace {

using testing::get_request;
using testing::open_route;
using testing::RawClient;

struct SmugglingRow {
    std::string_view request;
    int status;
};

// Behind each stands a request that must not be served.
const SmugglingRow kSmugglings[] = {
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: "
     "chunked\r\n\r\n0\r\n\r\n",
     400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: "
     "5\r\n\r\n0\r\n\r\n",
     400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\nhello", 400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5, 5\r\n\r\nhello", 400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nhello", 400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length : 5\r\n\r\nhello", 400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n", 501},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\x0b"
     "chunked\r\n\r\n0\r\n\r\n",
     400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
     "chunked\r\n\r\n5;a=\"\n\"\r\nhello\r\n0\r\n\r\n",
     400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
     400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
     400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n", 400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: "
     "5\r\n\r\n",
     400},
    {"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
     "chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
     400},
    {"GET http://localhost/echo HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
    {"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 501},
    {"GET /a/../echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400},
    {"GET /a/%2e%2E/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400},
    {"GET /a%2fecho HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400},
    {"GET /echo HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400},
    {"GET /echo HTTP/1.1\r\n\r\n", 400},
    {"GET /echo HTTP/1.0\r\nHost: localhost\r\n\r\n", 505},
    {"GET /echo\r\nHost: localhost\r\n\r\n", 400},
    {"\r\n", 400},
};

TEST(http_server, what_could_be_read_in_two_ways_is_refused_and_ends_the_connection) {
    std::atomic<int> smuggled = 0;
    std::vector<Route> routes;
    routes.push_back(open_route(Method::kPost, "/echo", testing::echo, 1000));
    routes.push_back(open_route(Method::kGet, "/smuggled", [&](Request&) {
        ++smuggled;
        return Response::text("smuggled");
    }));
    const Server server = testing::start_server(std::move(routes));
    for (const SmugglingRow& row : kSmugglings) {
        RawClient client(server.port());
        EXPECT_EQ(client.ask(std::string(row.request) + get_request("/smuggled")).status, row.status)
            << row.request;
        EXPECT_TRUE(client.ended()) << row.request;
    }
    EXPECT_EQ(smuggled, 0);
}

TEST(http_server, a_nul_is_refused_wherever_it_stands) {
    const Server server =
        testing::start_server(open_route(Method::kGet, "/", [](Request&) { return Response(); }));
    const std::string request = get_request("/");
    for (size_t at = 0; at < request.size(); ++at) {
        RawClient client(server.port());
        std::string changed = request;
        changed[at] = '\0';
        EXPECT_EQ(client.ask(changed).status, 400) << at;
    }
}

}  // namespace
}  // namespace belay::http
