// Bodies of responses: files, pieces of a generator and events; readers that are slow or gone.
#include "core/file.h"
#include "http/server/testing/server.h"

#include <atomic>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::http {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::get_request;
using ::testing::HasSubstr;
using testing::local_options;
using testing::open_route;
using testing::RawClient;
using testing::start_server;

std::string numbered_text(size_t lines) {
    std::string text;
    for (size_t i = 0; i < lines; ++i) text += fmt::format("line {}\n", i);
    return text;
}

// A generator of so many pieces that then ends, or fails.
Generator pieces(int count, std::string piece, bool fails) {
    auto left = std::make_shared<int>(count);
    return [left, piece = std::move(piece), fails]() -> Task<core::Result<std::string>> {
        if ((*left)-- > 0) co_return piece;
        if (fails) co_return core::system_error("the source broke");
        co_return std::string();
    };
}

TEST(http_server, a_file_is_sent_by_its_descriptor) {
    const auto directory = core::TemporaryDirectory::create().value();
    const std::string content = numbered_text(100'000);
    const auto path = directory.path() / "file";
    ASSERT_TRUE(core::replace_file(path, content));
    std::vector<Route> routes;
    auto serve = [&](uint64_t offset, uint64_t length) {
        return [=](Request&) -> Response {
            BELAY_TRY(descriptor, core::open_file(path, O_RDONLY));
            return Response::file({.descriptor = std::move(descriptor), .length = length, .offset = offset},
                                  "text/plain");
        };
    };
    routes.push_back(open_route(Method::kGet, "/whole", serve(0, content.size())));
    routes.push_back(open_route(Method::kGet, "/part", serve(1000, 10)));
    routes.push_back(open_route(Method::kGet, "/empty", serve(0, 0)));
    routes.push_back(open_route(Method::kGet, "/beyond", serve(content.size() - 5, 10)));
    const Server server = start_server(std::move(routes));
    RawClient client(server.port());
    EXPECT_EQ(client.ask(get_request("/whole")).body, content);
    EXPECT_EQ(client.ask(get_request("/part")).body, content.substr(1000, 10));
    EXPECT_EQ(client.ask(get_request("/empty")).body, "");
    const Answer head = client.ask("HEAD /whole HTTP/1.1\r\nHost: localhost\r\n\r\n", true);
    EXPECT_EQ(head.headers.at("content-length"), std::to_string(content.size()));
    const Answer beyond = client.ask(get_request("/beyond"));
    EXPECT_FALSE(beyond.whole);
    EXPECT_TRUE(client.ended());
}

TEST(http_server, a_generator_is_sent_in_chunks) {
    std::vector<Route> routes;
    routes.push_back(open_route(Method::kGet, "/pieces", [](Request&) {
        return Response::chunked(pieces(1000, "piece ", false), "x/y");
    }));
    routes.push_back(open_route(Method::kGet, "/broken", [](Request&) {
        return Response::chunked(pieces(3, "piece ", true), "x/y");
    }));
    const Server server = start_server(std::move(routes));
    RawClient client(server.port());
    const Answer answer = client.ask(get_request("/pieces"));
    EXPECT_TRUE(answer.whole);
    EXPECT_EQ(answer.body.size(), 6000u);
    EXPECT_EQ(
        client.ask("HEAD /pieces HTTP/1.1\r\nHost: localhost\r\n\r\n", true).headers.at("transfer-encoding"),
        "chunked");
    // Nobody takes for whole what is not.
    const Answer broken = client.ask(get_request("/broken"));
    EXPECT_EQ(broken.status, 200);
    EXPECT_EQ(broken.body, "piece piece piece ");
    EXPECT_FALSE(broken.whole);
}

TEST(http_server, a_reader_that_goes_away_ends_the_response) {
    std::atomic<int> made = 0;
    const Server server = start_server(open_route(Method::kGet, "/endless", [&](Request&) {
        auto piece = [&]() -> Task<core::Result<std::string>> {
            ++made;
            co_return std::string(100'000, 'x');
        };
        return Response::chunked(piece, "x/y");
    }));
    {
        RawClient client(server.port());
        client.send(get_request("/endless"));
        EXPECT_FALSE(client.read_some().empty());
        client.reset();
    }
    testing::wait_until_open(server, 0);
    const int made_until_then = made;
    EXPECT_GT(made_until_then, 0);
    EXPECT_EQ(made, made_until_then);
}

TEST(http_server, a_reader_that_takes_nothing_ends_the_response) {
    Options options = local_options();
    options.limits.write_timeout = 100ms;
    options.limits.least_bytes_per_second = 1'000'000'000;
    const Server server = start_server(
        open_route(Method::kGet, "/endless",
                   [](Request&) {
                       return Response::chunked(pieces(100'000, std::string(100'000, 'x'), false), "x/y");
                   }),
        std::move(options));
    RawClient client(server.port());
    client.send(get_request("/endless"));
    testing::wait_for_timeouts(server, 1);
    EXPECT_FALSE(client.read_answer().whole);
}

// Whoever asks for events joins this queue.
struct EventSource {
    std::mutex mutex;
    std::vector<std::shared_ptr<EventQueue>> queues;

    Handler handler(size_t most_bytes = EventQueue::kMostBytes) {
        return [this, most_bytes](Request&) {
            auto queue = std::make_shared<EventQueue>(most_bytes);
            std::lock_guard lock(mutex);
            queues.push_back(queue);
            return Response::events(queue);
        };
    }
    std::shared_ptr<EventQueue> last() {
        std::lock_guard lock(mutex);
        return queues.back();
    }
};

TEST(http_server, events_are_sent_as_they_come) {
    EventSource source;
    const Server server = start_server(open_route(Method::kGet, "/events", source.handler()));
    RawClient client(server.port());
    client.send(get_request("/events"));
    const auto head = client.take_until("\r\n\r\n");
    ASSERT_TRUE(head);
    EXPECT_THAT(*head, HasSubstr("content-type: text/event-stream\r\n"));
    const auto queue = source.last();
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(queue->push({.data = std::to_string(i), .event = "number"}));
        EXPECT_THAT(client.take_until("\n\n").value_or(""),
                    HasSubstr(fmt::format("event: number\ndata: {}\n\n", i)));
    }
    queue->close();
    EXPECT_TRUE(client.take_until("0\r\n\r\n"));
    EXPECT_EQ(client.ask("HEAD /events HTTP/1.1\r\nHost: localhost\r\n\r\n", true).status, 200);
    EXPECT_FALSE(source.last()->is_open());
}

TEST(http_server, comments_are_sent_where_nothing_happens) {
    Options options = local_options();
    options.limits.heartbeat_interval = 5ms;
    EventSource source;
    const Server server =
        start_server(open_route(Method::kGet, "/events", source.handler()), std::move(options));
    RawClient client(server.port());
    client.send(get_request("/events"));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.take_until("3\r\n:\n\n\r\n"));
    const auto queue = source.last();
    client.reset();
    while (queue->is_open()) std::this_thread::sleep_for(1ms);  // a heartbeat finds it out
}

TEST(http_server, a_slow_reader_of_events_is_dropped) {
    EventSource source;
    const Server server = start_server(open_route(Method::kGet, "/events", source.handler(100'000)));
    RawClient client(server.port());
    client.send(get_request("/events"));
    ASSERT_TRUE(client.take_until("\r\n\r\n"));
    const auto queue = source.last();
    core::Result<> pushed;
    while (pushed) pushed = queue->push({.data = std::string(10'000, 'x')});
    EXPECT_EQ(pushed.error().cause(), core::Cause::kNoSpace);
    testing::wait_until_open(server, 0);
    EXPECT_EQ(server.metrics().event_readers_dropped_total, 1u);
}

TEST(http_server, many_threads_push_to_many_readers) {
    EventSource source;
    Options options = local_options(4);
    const Server server =
        start_server(open_route(Method::kGet, "/events", source.handler()), std::move(options));
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 8; ++i) {
        clients.push_back(std::make_unique<RawClient>(server.port()));
        clients.back()->send(get_request("/events"));
        ASSERT_TRUE(clients.back()->take_until("\r\n\r\n"));
    }
    std::vector<std::jthread> pushers;
    for (int thread = 0; thread < 4; ++thread)
        pushers.emplace_back([&] {
            for (int i = 0; i < 500; ++i)
                for (const auto& queue : source.queues) EXPECT_TRUE(queue->push({.data = "x"}));
        });
    pushers.clear();
    for (const auto& queue : source.queues) queue->close();
    for (const auto& client : clients) {
        const std::string all = client->take_until("\r\n0\r\n\r\n").value_or("");
        size_t events = 0;
        for (size_t at = 0; (at = all.find("data: x\n\n", at)) != std::string::npos; ++at) ++events;
        EXPECT_EQ(events, 2000u);
    }
}

}  // namespace
}  // namespace belay::http
