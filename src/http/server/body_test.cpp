// Bodies of requests: whole and in pieces, too long, too slow and cut.
#include "http/server/testing/server.h"

#include <atomic>
#include <future>
#include <latch>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace belay::http {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::get_request;
using testing::local_options;
using testing::open_route;
using testing::post_request;
using testing::RawClient;
using testing::start_server;

// Counts the bytes of a body that comes in pieces.
Task<Response> count_pieces(Request& request) {
    size_t bytes = 0;
    for (;;) {
        auto next = co_await request.next_piece();
        BELAY_CO_TRY(piece, std::move(next));
        if (piece.empty()) break;
        bytes += piece.size();
    }
    co_return Response::text(std::to_string(bytes));
}

Route upload_route(uint64_t limit, Handler handler = count_pieces) {
    Route route = open_route(Method::kPost, "/upload", std::move(handler), limit);
    route.body_mode = BodyMode::kInPieces;
    return route;
}

Server body_server(Options options = local_options()) {
    std::vector<Route> routes;
    routes.push_back(open_route(Method::kPost, "/echo", testing::echo, 1000));
    routes.push_back(upload_route(100'000'000));
    routes.push_back(
        open_route(Method::kPost, "/ignore", [](Request&) { return Response::text("ignored"); }, 0));
    Route left = upload_route(100'000'000, [](Request&) { return Response::text("left"); });
    left.pattern = "/left";
    routes.push_back(std::move(left));
    return start_server(std::move(routes), std::move(options));
}

constexpr std::string_view kChunkedPost =
    "POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(http_server, a_large_body_comes_in_pieces) {
    const Server server = body_server();
    RawClient client(server.port());
    EXPECT_EQ(client.ask(post_request("/upload", std::string(50'000'000, 'x'))).body, "50000000");
    EXPECT_EQ(client.ask(post_request("/upload", "")).body, "0");
    EXPECT_EQ(client.ask(std::string(kChunkedPost) + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n").body, "11");
}

TEST(http_server, a_body_in_chunks_can_be_taken_whole) {
    const Server server = body_server();
    RawClient client(server.port());
    EXPECT_EQ(client
                  .ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                       "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
                  .body,
              "hello");
}

TEST(http_server, a_body_that_is_too_long_is_refused) {
    const Server server = body_server();
    const std::string chunked =
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& request :
         {post_request("/echo", std::string(1001, 'x')), chunked + "3E9\r\n",
          chunked + "3E8\r\n" + std::string(1000, 'x') + "\r\n1\r\n", post_request("/ignore", "x")}) {
        RawClient client(server.port());
        const Answer answer = client.ask(request);
        EXPECT_EQ(answer.status, 413);
        EXPECT_TRUE(answer.whole);
        client.shut_down_writing();
        EXPECT_TRUE(client.ended());
    }
    RawClient client(server.port());
    EXPECT_EQ(client.ask(post_request("/echo", std::string(1000, 'x'))).status, 200);
}

// The answer must not be lost to the reset that closing with unread bytes would cause.
TEST(http_server, who_still_sends_reads_why_it_was_refused) {
    const Server server = body_server();
    RawClient client(server.port());
    const std::string body(2'000'000, 'x');
    std::jthread sender([&] { client.send(post_request("/echo", body)); });
    EXPECT_EQ(client.read_answer().status, 413);
    sender.join();
}

TEST(http_server, a_body_is_sent_after_leave_was_given) {
    const Server server = body_server();
    RawClient client(server.port());
    const std::string head =
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    EXPECT_EQ(client.ask(head).status, 100);
    EXPECT_EQ(client.ask("hello").body, "hello");
    // No leave where the body is refused or nobody reads it; the connection ends, as the body may come or not.
    EXPECT_EQ(client
                  .ask("POST /nothing HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
                       "5\r\n\r\n")
                  .status,
              404);
    client.shut_down_writing();
    EXPECT_TRUE(client.ended());
    RawClient other(server.port());
    EXPECT_EQ(other
                  .ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
                       "5000\r\n\r\n")
                  .status,
              413);
}

TEST(http_server, a_short_body_that_nobody_reads_does_not_end_the_connection) {
    const Server server = body_server();
    RawClient client(server.port());
    EXPECT_EQ(client.ask(post_request("/left", std::string(1000, 'x'))).body, "left");
    EXPECT_EQ(client.ask(post_request("/nothing", std::string(1000, 'x'))).status, 404);
    EXPECT_EQ(client.ask(post_request("/echo", "still there")).body, "still there");
    EXPECT_EQ(client.ask(post_request("/left", std::string(1'000'000, 'x'))).headers.at("connection"),
              "close");
}

// A handler that takes nothing makes the sender wait: what is under way fits into the buffers of the sockets.
TEST(http_server, a_sender_waits_for_a_slow_handler) {
    std::latch release(1);
    const Server server = start_server(upload_route(1'000'000'000, [&](Request& request) -> Task<Response> {
        auto work = request.run_blocking([&] {
            release.wait();
            return true;
        });
        auto waited = co_await work;
        BELAY_CO_CHECK(waited);
        co_return co_await count_pieces(request);
    }));
    RawClient client(server.port());
    constexpr size_t kBytes = 200'000'000;
    client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(kBytes) +
                "\r\n\r\n");
    const std::string piece(1'000'000, 'x');
    size_t sent = 0;
    for (int refused = 0; refused < 20 && sent < kBytes;) {
        const size_t more = client.send_without_waiting(std::string_view(piece).substr(0, kBytes - sent));
        sent += more;
        refused = more == 0 ? refused + 1 : 0;
        if (more == 0) std::this_thread::sleep_for(10ms);
    }
    EXPECT_LT(sent, kBytes / 2);
    release.count_down();
    while (sent < kBytes) {
        const std::string_view rest = std::string_view(piece).substr(0, kBytes - sent);
        ASSERT_TRUE(client.send(rest));
        sent += rest.size();
    }
    EXPECT_EQ(client.read_answer().body, std::to_string(kBytes));
}

TEST(http_server, a_body_that_is_cut_ends_its_handler) {
    std::promise<core::Cause> seen;
    const Server server = start_server(upload_route(1000, [&](Request& request) -> Task<Response> {
        for (;;) {
            auto piece = co_await request.next_piece();
            if (!piece) seen.set_value(piece.error().cause());
            BELAY_CO_CHECK(piece);
            if (piece->empty()) co_return Response();
        }
    }));
    RawClient client(server.port());
    client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf");
    client.shut_down_writing();
    EXPECT_EQ(seen.get_future().get(), core::Cause::kEnded);
    EXPECT_TRUE(client.ended());
}

TEST(http_server, connections_that_are_reset_within_bodies_do_no_harm) {
    const Server server = body_server();
    for (int i = 0; i < 100; ++i) {
        RawClient client(server.port());
        client.send("POST /" + std::string(i % 2 == 0 ? "echo" : "upload") +
                    " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\nhalf");
        client.reset();
    }
    RawClient client(server.port());
    EXPECT_EQ(client.ask(post_request("/echo", "x")).body, "x");
}

TEST(http_server, a_body_that_comes_too_slowly_ends_the_connection) {
    Options options = local_options();
    options.limits.body_timeout = 100ms;
    options.limits.least_bytes_per_second = 1'000'000;  // a byte now and then earns nothing
    const Server server = body_server(std::move(options));
    RawClient client(server.port());
    client.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
    std::jthread sender([&](const std::stop_token& stop) {
        while (!stop.stop_requested() && client.send("x")) std::this_thread::sleep_for(5ms);
    });
    EXPECT_TRUE(client.ended());
    testing::wait_for_timeouts(server, 1);
}

TEST(http_server, wrong_chunks_are_refused_also_where_the_handler_says_otherwise) {
    const Server server = start_server(upload_route(1000, [](Request& request) -> Task<Response> {
        const auto piece = co_await request.next_piece();
        co_return Response::text(piece ? "fine" : "the handler took no notice");
    }));
    RawClient client(server.port());
    const Answer answer = client.ask(std::string(kChunkedPost) + "zz\r\n");
    EXPECT_EQ(answer.status, 400);
    client.shut_down_writing();
    EXPECT_TRUE(client.ended());
}

}  // namespace
}  // namespace belay::http
