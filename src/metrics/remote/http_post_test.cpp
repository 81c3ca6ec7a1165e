#include "metrics/remote/http_post.h"

#include "core/fetch/testing/http_server.h"
#include "core/file.h"
#include "core/text.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <future>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::metrics::remote {
namespace {

using core::fetch::testing::HttpServer;
using core::fetch::testing::ServedRequest;
using core::fetch::testing::ServedResponse;
using ::testing::HasSubstr;

// Takes one request with its body, which HttpServer does not read, and answers 204.
class BodyServer {
  public:
    BodyServer() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        auto* raw = reinterpret_cast<sockaddr*>(&address);
        if (bind(listener_.get(), raw, length) != 0 || listen(listener_.get(), 4) != 0 ||
            getsockname(listener_.get(), raw, &length) != 0)
            std::abort();
        port_ = ntohs(address.sin_port);
        taken_ = std::async(std::launch::async, [this] { return take(); });
    }
    ~BodyServer() { shutdown(listener_.get(), SHUT_RDWR); }

    std::string url() const { return fmt::format("http://127.0.0.1:{}/api/v1/write", port_); }
    // Head and body; both empty if there was no request.
    std::pair<std::string, std::string> request() { return taken_.get(); }

  private:
    std::pair<std::string, std::string> take() {
        core::Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        std::string all;
        size_t head = std::string::npos;
        size_t wanted = 1;
        while (all.size() < wanted) {
            char chunk[65536];
            const ssize_t n = recv(connection.get(), chunk, sizeof chunk, 0);
            if (n <= 0) return {};
            all.append(chunk, static_cast<size_t>(n));
            wanted = all.size() + 1;
            head = all.find("\r\n\r\n");
            if (head == std::string::npos) continue;
            const size_t field = all.find("Content-Length: ") + std::strlen("Content-Length: ");
            wanted = head + 4 +
                     core::parse_number<size_t>(all.substr(field, all.find('\r', field) - field)).value();
        }
        const std::string_view answer = "HTTP/1.1 204 No Content\r\n\r\n";
        (void)!send(connection.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
        return {all.substr(0, head), all.substr(head + 4)};
    }

    core::Descriptor listener_;
    uint16_t port_ = 0;
    std::future<std::pair<std::string, std::string>> taken_;
};

TEST(metrics_remote, a_post_carries_headers_and_all_bytes) {
    BodyServer server;
    std::string body(3'000'000, '\0');  // large enough that libcurl would ask before it sends
    for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7);
    auto answer =
        http_post({})({.url = server.url(),
                       .headers = {{"Content-Type", "application/x-protobuf"}, {"User-Agent", "belay/1"}},
                       .authorization = "Bearer x",
                       .body = body});
    ASSERT_TRUE(answer) << answer.error().render();
    EXPECT_EQ(answer->status, 204);
    const auto [head, received] = server.request();
    EXPECT_TRUE(received == body) << received.size();
    EXPECT_THAT(head, HasSubstr("POST /api/v1/write HTTP/1.1\r\n"));
    for (const char* line : {"Content-Type: application/x-protobuf\r\n", "User-Agent: belay/1\r\n",
                             "Authorization: Bearer x\r\n"})
        EXPECT_THAT(head, HasSubstr(line));
    EXPECT_EQ(head.find("Expect"), std::string::npos);
}

TEST(metrics_remote, an_answer_has_status_retry_after_and_the_beginning_of_its_body) {
    HttpServer server([](const ServedRequest&) {
        return ServedResponse{
            .status = 429, .headers = {{"Retry-AFTER", " 12 "}}, .body = std::string(100'000, 'x')};
    });
    auto answer =
        http_post({})({.url = server.url("/write"), .headers = {}, .authorization = {}, .body = {}});
    ASSERT_TRUE(answer) << answer.error().render();
    EXPECT_EQ(answer->status, 429);
    EXPECT_EQ(answer->retry_after, "12");
    EXPECT_EQ(answer->body, std::string(16384, 'x'));
}

TEST(metrics_remote, redirects_are_not_followed) {
    HttpServer server([](const ServedRequest&) {
        return ServedResponse{.status = 302, .headers = {{"Location", "/other"}}};
    });
    auto answer =
        http_post({})({.url = server.url("/write"), .headers = {}, .authorization = "Bearer x", .body = {}});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 302);
    EXPECT_EQ(server.requests().size(), 1u);
}

TEST(metrics_remote, what_cannot_be_reached_is_an_error_with_a_cause) {
    const Transport post = http_post({});
    const PostRequest nowhere{.url = "http://127.0.0.1:1/", .headers = {}, .authorization = {}, .body = "x"};
    auto refused = post(nowhere);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().cause(), core::Cause::kUnreachable);
    EXPECT_THAT(refused.error().message(), HasSubstr("cannot reach 127.0.0.1:1: "));
    HttpServer server([](const ServedRequest&) { return ServedResponse{.no_answer = true}; });
    auto broken = post({.url = server.url("/"), .headers = {}, .authorization = {}, .body = "x"});
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().cause(), core::Cause::kUnreachable);
    std::atomic<bool> stopped = true;
    auto cancelled = http_post({.stopped = &stopped})(
        {.url = server.url("/"), .headers = {}, .authorization = {}, .body = "x"});
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().cause(), core::Cause::kCancelled);
}

TEST(metrics_remote, credentials_are_sent_where_only_the_receiver_can_read_them) {
    EXPECT_TRUE(check_target("https://metrics.example.org/api/v1/write", true));
    EXPECT_TRUE(check_target("http://metrics.example.org/api/v1/write", false));
    EXPECT_TRUE(check_target("http://127.0.0.1:8428/api/v1/write", true));
    EXPECT_TRUE(check_target("http://[::1]:8428/api/v1/write", true));
    auto open = check_target("http://metrics.example.org/api/v1/write", true);
    ASSERT_FALSE(open);
    EXPECT_EQ(open.error().hint_text(), "use https");
    for (const char* url : {"", "metrics", "ftp://metrics/", "file:///etc/passwd", "http://"})
        EXPECT_FALSE(check_target(url, false)) << url;
    EXPECT_FALSE(http_post({})(
        {.url = "http://metrics.example.org/", .headers = {}, .authorization = "Bearer x", .body = {}}));
}

TEST(metrics_remote, a_file_of_authorities_that_cannot_be_read_is_an_error) {
    HttpServer server([](const ServedRequest&) { return ServedResponse{}; });
    auto answer = http_post({.ca_file = "/nonexistent"})(
        {.url = "https://" + server.authority() + "/", .headers = {}, .authorization = {}, .body = "x"});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind(), core::ErrorKind::kSystem);
    EXPECT_THAT(answer.error().hint_text(), HasSubstr("/nonexistent"));
}

}  // namespace
}  // namespace belay::metrics::remote
