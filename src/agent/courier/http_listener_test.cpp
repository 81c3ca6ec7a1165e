#include "agent/courier/http_listener.h"

#include "agent/courier/listen_address.h"
#include "core/deadline.h"
#include "core/fetch/http.h"

#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A listener on a free port, which answers as a page would.
class Listening {
  public:
    explicit Listening(const HttpLimits& limits = {}) {
        auto socket = open_listen_socket({.host = "127.0.0.1", .port = 0});
        if (!socket) ADD_FAILURE() << socket.error().message();
        port_ = socket->address.port;
        const ScrapePage page(
            [] {
                return std::vector<metrics::Family>{
                    {.name = "belay_up",
                     .help = "up",
                     .samples = {{.labels = {{"node", "n1"}}, .value = 1.0}}}};
            },
            [] { return std::nullopt; });
        auto answer = [page](const ScrapeRequest& request) { return page.answer(request); };
        auto listener = HttpListener::start(std::move(socket->socket), answer, limits);
        if (!listener) {
            ADD_FAILURE() << listener.error().message();
            return;
        }
        listener_.emplace(std::move(*listener));
    }

    std::string url(const std::string& path) const {
        return fmt::format("http://127.0.0.1:{}{}", port_, path);
    }

    core::Descriptor connect_to_it() const {
        core::Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port_);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        return fd;
    }
    // What comes until the other side closes.
    std::string ask(std::string_view request) const {
        const core::Descriptor fd = connect_to_it();
        (void)!send(fd.get(), request.data(), request.size(),
                    MSG_NOSIGNAL);  // it may close before it has all
        const core::Deadline deadline = core::Deadline::after(std::chrono::seconds(60));
        std::string answer;
        for (;;) {
            pollfd entry{.fd = fd.get(), .events = POLLIN, .revents = 0};
            if (poll(&entry, 1, deadline.poll_milliseconds()) == 0) {
                ADD_FAILURE() << "no end within a minute of the answer to " << request.substr(0, 60);
                return answer;
            }
            char part[4096];
            const ssize_t size = recv(fd.get(), part, sizeof part, 0);
            if (size <= 0) return answer;
            answer.append(part, static_cast<size_t>(size));
        }
    }

  private:
    uint16_t port_ = 0;
    std::optional<HttpListener> listener_;
};

TEST(agent_courier, a_listener_answers_over_http) {
    const Listening listening;
    core::fetch::HttpClient client({}, core::system_clock());
    for (int i = 0; i < 3; ++i) {
        auto answer = client.get({.url = listening.url("/metrics?x=1")}, size_t{1} << 20);
        ASSERT_TRUE(answer) << answer.error().render();
        EXPECT_EQ(answer->status, 200);
        EXPECT_THAT(answer->body, HasSubstr("belay_up{node=\"n1\"} 1\n"));
        EXPECT_THAT(std::string(answer->header("content-type")), StartsWith("text/plain; version=0.0.4"));
        EXPECT_EQ(answer->header("cache-control"), "no-store");
        EXPECT_EQ(answer->header("vary"), "Accept");
    }
    auto open = client.get(
        {.url = listening.url("/metrics"), .headers = {{"Accept", "application/openmetrics-text"}}}, 1 << 20);
    ASSERT_TRUE(open);
    EXPECT_TRUE(open->body.ends_with("# EOF\n"));
    auto health = client.get({.url = listening.url("/healthz")}, 1 << 20);
    ASSERT_TRUE(health);
    EXPECT_EQ(health->body, "ok\n");
}

TEST(agent_courier, a_connection_is_kept_for_the_next_request) {
    const Listening listening;
    const std::string answers = listening.ask(
        "GET /metrics HTTP/1.1\r\nHost: n\r\n\r\nGET /healthz HTTP/1.1\r\nHost: n\r\nConnection: "
        "close\r\n\r\n");
    EXPECT_THAT(answers, HasSubstr("belay_up{node=\"n1\"} 1\n"));
    EXPECT_TRUE(answers.ends_with("ok\n")) << answers;
}

struct RawExchange {
    std::string request;
    std::string begins;
    std::string holds;
};

TEST(agent_courier, a_listener_takes_no_bodies_and_no_other_methods) {
    const Listening listening;
    const RawExchange rows[] = {
        {"HEAD /metrics HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 ",
         "Content-Length: "},
        {"POST /metrics HTTP/1.1\r\nHost: n\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 405 ",
         "Allow: GET, HEAD\r\n"},
        {"DELETE /healthz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", "HTTP/1.1 405 ",
         "Allow: GET, HEAD\r\n"},
        {"GET /metrics HTTP/1.1\r\nHost: n\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 413 ", "no body"},
        {"GET /metrics HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
         "HTTP/1.1 413 ", "no body"},
        {"GET /nowhere HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", "HTTP/1.1 404 ", "/metrics"},
    };
    for (const RawExchange& row : rows) {
        const std::string answer = listening.ask(row.request);
        EXPECT_THAT(answer, StartsWith(row.begins)) << row.request;
        EXPECT_THAT(answer, HasSubstr(row.holds)) << row.request;
    }
    EXPECT_THAT(listening.ask(rows[0].request), Not(HasSubstr("belay_up"))) << "HEAD has no body";
}

TEST(agent_courier, what_is_too_much_or_no_http_ends_its_connection_only) {
    const Listening listening;
    listening.ask("\x16\x03\x01 not http\r\n\r\n");
    listening.ask("GET /metrics HTTP/1.1\r\nHost: n\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
    const std::string endless = listening.ask(
        "PUT /metrics HTTP/1.1\r\nHost: n\r\nContent-Length: 4000000000\r\n\r\n" + std::string(100'000, 'x'));
    EXPECT_THAT(endless, Not(HasSubstr("HTTP/1.1 200")));
    EXPECT_THAT(listening.ask("GET /healthz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n"),
                HasSubstr("ok\n"));
}

// Whether the other side closes the connection, without a word, within a minute.
bool is_closed_unanswered(const core::Descriptor& fd) {
    pollfd entry{.fd = fd.get(), .events = POLLIN, .revents = 0};
    char byte = 0;
    return poll(&entry, 1, 60'000) > 0 && recv(fd.get(), &byte, 1, 0) <= 0;
}

TEST(agent_courier, connections_have_a_bound_and_silent_ones_end) {
    const Listening listening({.connections = 4, .connections_of_one = 2, .silent_seconds = 1});
    std::vector<core::Descriptor> silent;
    for (int i = 0; i < 3; ++i) silent.push_back(listening.connect_to_it());
    for (const core::Descriptor& one : silent) EXPECT_TRUE(is_closed_unanswered(one));
    EXPECT_THAT(listening.ask("GET /healthz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n"),
                HasSubstr("ok\n"));
}

}  // namespace
}  // namespace belay::agent
