// Limits, many requests, many connections, and the end of a server.
#include "http/server/testing/server.h"

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
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

Route ok_route() {
    return open_route(Method::kGet, "/ok", [](Request&) { return Response::text("ok"); });
}

TEST(http_server, a_head_that_is_too_long_is_refused) {
    Options options = local_options();
    options.limits.header_bytes = 1000;
    const Server server = start_server(ok_route(), std::move(options));
    for (const std::string& end : {std::string("\r\n\r\n"), std::string(), std::string(100'000, 'x')}) {
        RawClient client(server.port());
        EXPECT_EQ(
            client.ask("GET /ok HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(1000, 'x') + end).status,
            431);
        client.shut_down_writing();
        EXPECT_TRUE(client.ended());
    }
    RawClient client(server.port());
    EXPECT_EQ(client.ask(get_request("/ok", "X: " + std::string(900, 'x') + "\r\n")).status, 200);
}

TEST(http_server, a_head_that_comes_byte_by_byte_is_not_waited_for) {
    Options options = local_options();
    options.limits.header_timeout = 100ms;
    const Server server = start_server(ok_route(), std::move(options));
    RawClient slow(server.port()), silent(server.port());
    std::jthread sender([&](const std::stop_token& stop) {
        slow.send("GET /ok HTTP/1.1\r\nHost: localhost\r\nX: ");
        while (!stop.stop_requested() && slow.send("x")) std::this_thread::sleep_for(5ms);
    });
    EXPECT_TRUE(slow.ended());
    EXPECT_TRUE(silent.ended());
    testing::wait_for_timeouts(server, 2);
}

TEST(http_server, a_connection_that_waits_for_nothing_ends) {
    Options options = local_options();
    options.limits.idle_timeout = 100ms;
    const Server server = start_server(ok_route(), std::move(options));
    RawClient client(server.port());
    EXPECT_EQ(client.ask(get_request("/ok")).status, 200);
    EXPECT_TRUE(client.ended());
}

TEST(http_server, one_peer_has_so_many_connections_and_no_more) {
    Options options = local_options();
    options.limits.connections_per_peer = 3;
    const Server server = start_server(ok_route(), std::move(options));
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 3; ++i) {
        clients.push_back(std::make_unique<RawClient>(server.port()));
        EXPECT_EQ(clients.back()->ask(get_request("/ok")).status, 200);
    }
    RawClient refused(server.port());
    EXPECT_TRUE(refused.ended());
    EXPECT_EQ(server.metrics().connections_refused_total, 1u);
    clients.pop_back();
    testing::wait_until_open(server, 2);
    // The place is free as soon as the server has seen the end of the other one.
    for (int status = 0; status != 200;) status = RawClient(server.port()).ask(get_request("/ok")).status;
}

TEST(http_server, thousands_of_short_requests) {
    std::vector<Route> routes;
    routes.push_back(ok_route());
    routes.push_back(open_route(Method::kPost, "/echo", testing::echo, 1000));
    const Server server = start_server(std::move(routes), local_options(4));
    std::atomic<int> right = 0;
    {
        std::vector<std::jthread> clients;
        for (int thread = 0; thread < 8; ++thread)
            clients.emplace_back([&, thread] {
                for (int connection = 0; connection < 25; ++connection) {
                    RawClient client(server.port());
                    for (int i = 0; i < 20; ++i) {
                        const std::string text = fmt::format("{} {} {}", thread, connection, i);
                        right += client.ask(get_request("/ok")).body == "ok" ? 1 : 0;
                        right += client.ask(post_request("/echo", text)).body == text ? 1 : 0;
                    }
                }
            });
    }
    EXPECT_EQ(right, 8 * 25 * 20 * 2);
    EXPECT_EQ(server.metrics().connections_total, 200u);
}

TEST(http_server, where_all_workers_are_busy_a_request_is_told_to_come_again) {
    Options options = local_options();
    options.worker_threads = 1;
    options.most_waiting_jobs = 1;
    std::atomic<bool> begun = false;
    std::latch release(1);
    const Server server = start_server(open_route(Method::kGet, "/work",
                                                  [&](Request& request) -> Task<Response> {
                                                      auto work = request.run_blocking([&] {
                                                          if (!begun.exchange(true)) begun.notify_all();
                                                          release.wait();
                                                          return true;
                                                      });
                                                      auto worked = co_await work;
                                                      BELAY_CO_CHECK(worked);
                                                      co_return Response::text("done");
                                                  }),
                                       std::move(options));
    RawClient working(server.port()), waiting(server.port()), refused(server.port());
    working.send(get_request("/work"));
    begun.wait(false);
    waiting.send(get_request("/work"));
    testing::wait_for_metrics(server, [](const Metrics& metrics) { return metrics.waiting_jobs == 1; });
    const Answer answer = refused.ask(get_request("/work"));
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.headers.at("retry-after"), "1");
    release.count_down();
    EXPECT_EQ(working.read_answer().body, "done");
    EXPECT_EQ(waiting.read_answer().body, "done");
}

TEST(http_server, requests_in_hand_are_finished_before_the_end) {
    std::latch begun(4), release(1);
    Server server = start_server(open_route(Method::kGet, "/work", [&](Request& request) -> Task<Response> {
        auto work = request.run_blocking([&] {
            begun.count_down();
            release.wait();
            return true;
        });
        auto worked = co_await work;
        BELAY_CO_CHECK(worked);
        co_return Response::text("done");
    }));
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(std::make_unique<RawClient>(server.port()));
        clients.back()->send(get_request("/work"));
    }
    RawClient waiting(server.port());
    begun.wait();
    bool in_time = false;
    std::jthread stopper([&] { in_time = server.stop(10min); });
    EXPECT_TRUE(waiting.ended());  // at once
    release.count_down();
    for (const auto& client : clients) {
        const Answer answer = client->read_answer();
        EXPECT_EQ(answer.body, "done");
        EXPECT_TRUE(client->ended());
    }
    stopper.join();
    EXPECT_TRUE(in_time);
    EXPECT_FALSE(RawClient(server.port()).connected());
}

TEST(http_server, what_is_not_finished_in_time_is_cut) {
    std::latch begun(1);
    const auto queue = std::make_shared<EventQueue>();
    std::vector<Route> routes;
    routes.push_back(open_route(
        Method::kPost, "/upload",
        [&](Request& request) -> Task<Response> {
            begun.count_down();
            auto piece = co_await request.next_piece();
            BELAY_CO_CHECK(piece);
            co_return Response::text("never");
        },
        1000));
    routes[0].body_mode = BodyMode::kInPieces;
    routes.push_back(open_route(Method::kGet, "/events", [&](Request&) { return Response::events(queue); }));
    Server server = start_server(std::move(routes));
    RawClient upload(server.port()), events(server.port());
    events.send(get_request("/events"));
    EXPECT_TRUE(events.take_until("\r\n\r\n"));
    upload.send("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n");
    begun.wait();
    EXPECT_FALSE(server.stop(50ms));
    EXPECT_TRUE(upload.ended());
    EXPECT_TRUE(events.take_until("0\r\n\r\n"));  // events end in order
    EXPECT_FALSE(queue->is_open());
}

TEST(http_server, a_server_stops_under_load) {
    for (int round = 0; round < 5; ++round) {
        Server server = start_server(ok_route(), local_options(4));
        std::atomic<int> answered = 0;
        std::atomic<bool> wrong = false;
        std::vector<std::jthread> clients;
        for (int i = 0; i < 8; ++i)
            clients.emplace_back([&](const std::stop_token& stop) {
                while (!stop.stop_requested()) {
                    RawClient client(server.port());
                    if (!client.connected()) return;
                    for (Answer answer; (answer = client.ask(get_request("/ok"))).status != 0;) {
                        wrong = wrong || !answer.whole || answer.body != "ok";
                        ++answered;
                        if (answer.headers.contains("connection")) break;
                    }
                }
            });
        while (answered < 100) std::this_thread::sleep_for(1ms);
        EXPECT_TRUE(server.stop(1min));
        clients.clear();
        EXPECT_FALSE(wrong);
        EXPECT_EQ(server.metrics().connections_open, 0u);
    }
}

}  // namespace
}  // namespace belay::http
