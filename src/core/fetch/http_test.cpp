#include "core/fetch/http.h"

#include "core/fetch/testing/http_server.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core::fetch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HttpServer;
using testing::ServedRequest;
using testing::ServedResponse;
using namespace std::chrono_literals;

// Nothing waits in these tests: the clock is moved instead.
struct Fixture {
    ManualClock clock{time_from_nanoseconds(1'700'000'000'000'000'000)};
    HttpClient client{{.seed = 1}, clock};
};

class TextSink : public DownloadSink {
  public:
    uint64_t position() const override { return text.size(); }
    Result<> restart() override {
        text.clear();
        ++restarts;
        return {};
    }
    Result<> write(std::string_view bytes) override {
        text += bytes;
        return {};
    }
    std::string text;
    int restarts = 0;
};

std::string long_text() {
    std::string out;
    for (int i = 0; i < 20000; ++i) out += fmt::format("{} ", i);
    return out;
}

// Answers ranges as a registry does.
ServedResponse serve_range(const ServedRequest& request, const std::string& body) {
    std::string range = request.header("range");
    if (range.empty()) return {.body = body};
    size_t start = std::stoull(range.substr(6));
    return {
        .status = 206,
        .headers = {{"Content-Range", fmt::format("bytes {}-{}/{}", start, body.size() - 1, body.size())}},
        .body = body.substr(start)};
}

TEST(core_fetch, get_gives_status_headers_and_body) {
    HttpServer server([](const ServedRequest& request) {
        return ServedResponse{.status = request.target == "/a" ? 200 : 404,
                              .headers = {{"X-Thing", "one"}, {"x-thing", "two"}},
                              .body = "hello"};
    });
    Fixture f;
    auto response = f.client.get({.url = server.url("/a"), .headers = {{"Accept", "text/x"}}}, 100);
    ASSERT_TRUE(response) << response.error().render();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "hello");
    EXPECT_EQ(response->header("x-thing"), "one");
    EXPECT_EQ(response->headers["x-thing"].size(), 2u);
    EXPECT_EQ(response->header("absent"), "");
    EXPECT_EQ(server.requests()[0].header("accept"), "text/x");
    response = f.client.get({.url = server.url("/b")}, 100);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 404);
    EXPECT_EQ(server.requests().size(), 2u);  // 404 is final
}

TEST(core_fetch, body_over_the_limit_is_an_error) {
    HttpServer server([](const ServedRequest&) { return ServedResponse{.body = std::string(101, 'x')}; });
    Fixture f;
    EXPECT_TRUE(f.client.get({.url = server.url("/")}, 101));
    auto response = f.client.get({.url = server.url("/")}, 100);
    ASSERT_FALSE(response);
    EXPECT_THAT(response.error().message(), HasSubstr("more than 100 bytes"));
}

TEST(core_fetch, statuses_that_may_pass_are_tried_again) {
    for (int status : {408, 429, 500, 502, 503, 504}) {
        std::atomic<int> calls = 0;
        HttpServer server(
            [&](const ServedRequest&) { return ServedResponse{.status = ++calls < 3 ? status : 200}; });
        Fixture f;
        auto response = f.client.get({.url = server.url("/")}, 100);
        ASSERT_TRUE(response) << response.error().render();
        EXPECT_EQ(response->status, 200) << status;
        EXPECT_EQ(calls, 3);
    }
    std::atomic<int> calls = 0;
    HttpServer server([&](const ServedRequest&) { return ServedResponse{.status = ++calls > 0 ? 503 : 0}; });
    Fixture f;
    EXPECT_EQ(f.client.get({.url = server.url("/")}, 100)->status, 503);
    EXPECT_EQ(calls, 5);
}

TEST(core_fetch, a_client_tells_of_its_first_retry_only) {
    std::atomic<int> calls = 0;
    HttpServer server([&](const ServedRequest&) { return ServedResponse{.status = ++calls > 0 ? 503 : 0}; });
    std::vector<std::string> told;
    HttpOptions options;
    options.on_first_retry = [&](const std::string& why) { told.push_back(why); };
    ManualClock clock{time_from_nanoseconds(1'700'000'000'000'000'000)};
    HttpClient client(options, clock);
    ASSERT_TRUE(client.get({.url = server.url("/a")}, 100));
    ASSERT_TRUE(client.get({.url = server.url("/b")}, 100));
    EXPECT_THAT(told, ElementsAre(url_authority(server.url("/")) + " answers 503"));

    told.clear();
    HttpClient other(options, clock);
    EXPECT_FALSE(other.get({.url = "http://127.0.0.1:1/"}, 100));
    EXPECT_THAT(told,
                ElementsAre(AllOf(HasSubstr("cannot reach 127.0.0.1:1: "), HasSubstr("Connection refused"))));
}

TEST(core_fetch, retry_after_is_honoured) {
    std::atomic<int> calls = 0;
    HttpServer server([&](const ServedRequest&) {
        return ServedResponse{.status = ++calls < 2 ? 429 : 200, .headers = {{"Retry-After", "77"}}};
    });
    Fixture f;
    Duration before = f.clock.monotonic();
    EXPECT_EQ(f.client.get({.url = server.url("/")}, 100)->status, 200);
    EXPECT_EQ(f.clock.monotonic() - before, 77s);
}

TEST(core_fetch, retry_delay_table) {
    HttpOptions options;
    Time now = time_from_nanoseconds(1'700'000'000'000'000'000);  // 14 Nov 2023 22:13:20 GMT
    EXPECT_EQ(retry_delay(options, 2, "", 1.0, now), 1s);
    EXPECT_EQ(retry_delay(options, 3, "", 1.0, now), 2s);
    EXPECT_EQ(retry_delay(options, 4, "", 0.5, now), 2s);
    EXPECT_EQ(retry_delay(options, 20, "", 1.0, now), 30s);
    EXPECT_EQ(retry_delay(options, 2, "0", 1.0, now), 0s);
    EXPECT_EQ(retry_delay(options, 2, "120", 1.5, now), 120s);
    EXPECT_EQ(retry_delay(options, 2, "Tue, 14 Nov 2023 22:14:20 GMT", 1.0, now), 60s);
    EXPECT_EQ(retry_delay(options, 2, "Tue, 14 Nov 2022 22:14:20 GMT", 1.0, now), 0s);
    EXPECT_EQ(retry_delay(options, 2, "Fri, 31 Dec 9999 23:59:59 GMT", 1.0, now), std::nullopt);
    EXPECT_EQ(retry_delay(options, 2, "soon", 1.0, now), 1s);
    EXPECT_EQ(retry_delay(options, 2, "301", 1.0, now), std::nullopt);
}

TEST(core_fetch, nobody_there_is_said) {
    std::string url;
    {
        HttpServer server([](const ServedRequest&) { return ServedResponse{}; });
        url = server.url("/");
    }
    Fixture f;
    auto response = f.client.get({.url = url}, 100);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().kind(), ErrorKind::kSystem);
    EXPECT_THAT(response.error().message(), HasSubstr("cannot reach " + url_authority(url)));
    EXPECT_EQ(response.error().cause(), Cause::kUnreachable);
    EXPECT_EQ(response.error().errno_value(), ECONNREFUSED);
    EXPECT_GT(f.clock.monotonic(), 5s);  // 1 + 2 + 4 + 8 s with jitter
    EXPECT_FALSE(f.client.get({.url = "file:///etc/passwd"}, 100));
    EXPECT_EQ(f.client.get({.url = "nonsense://x"}, 100).error().cause(), Cause::kOther);
}

TEST(core_fetch, certificates_that_cannot_be_read_are_no_failure_of_the_network) {
    HttpServer server([](const ServedRequest&) { return ServedResponse{}; });
    Fixture f;
    setenv("SSL_CERT_FILE", "/nonexistent", 1);
    auto response = f.client.get({.url = "https" + server.url("/").substr(std::strlen("http"))}, 100);
    unsetenv("SSL_CERT_FILE");
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().cause(), Cause::kOther) << response.error().render();
    EXPECT_THAT(response.error().hint_text(), HasSubstr("SSL_CERT_FILE"));
}

TEST(core_fetch, download_goes_on_where_it_broke_off) {
    const std::string body = long_text();
    std::atomic<int> calls = 0;
    HttpServer server([&](const ServedRequest& request) {
        ServedResponse response = serve_range(request, body);
        if (++calls < 4) response.close_after = 30000;
        return response;
    });
    Fixture f;
    TextSink sink;
    auto response = f.client.download({.url = server.url("/blob")}, sink);
    ASSERT_TRUE(response) << response.error().render();
    EXPECT_EQ(response->status, 206);
    EXPECT_EQ(sink.text, body);
    EXPECT_EQ(sink.restarts, 0);
    auto requests = server.requests();
    ASSERT_EQ(requests.size(), 4u);
    EXPECT_EQ(requests[1].header("range"), "bytes=30000-");
    EXPECT_EQ(requests[3].header("range"), "bytes=90000-");
}

TEST(core_fetch, download_starts_again_where_ranges_are_not_known) {
    const std::string body = long_text();
    std::atomic<int> calls = 0;
    HttpServer server([&](const ServedRequest&) {
        return ServedResponse{.body = body, .close_after = ++calls < 2 ? 1000 : -1};
    });
    Fixture f;
    TextSink sink;
    auto response = f.client.download({.url = server.url("/blob")}, sink);
    ASSERT_TRUE(response) << response.error().render();
    EXPECT_EQ(sink.text, body);
    EXPECT_EQ(sink.restarts, 1);
}

TEST(core_fetch, download_that_breaks_at_the_same_byte_is_given_up) {
    const std::string body = long_text();
    HttpServer server([&](const ServedRequest&) {
        return ServedResponse{.body = body, .close_after = static_cast<int64_t>(body.size() * 9 / 10)};
    });
    Fixture f;
    TextSink sink;
    EXPECT_FALSE(f.client.download({.url = server.url("/blob")}, sink));
    EXPECT_EQ(server.requests().size(), 5u);
}

// As if each piece had taken a while.
class SlowSink : public TextSink {
  public:
    SlowSink(ManualClock& clock_in, Duration by_in) : clock(clock_in), by(by_in) {}
    Result<> write(std::string_view bytes) override {
        clock.advance(by);
        return TextSink::write(bytes);
    }
    ManualClock& clock;
    Duration by;
};

TEST(core_fetch, download_that_trickles_is_given_up) {
    const std::string body(5'000'000, 'b');
    HttpServer server([&](const ServedRequest& request) { return serve_range(request, body); });
    Fixture f;
    SlowSink sink(f.clock, 10min);
    auto response = f.client.download({.url = server.url("/blob")}, sink);
    ASSERT_FALSE(response);
    EXPECT_THAT(response.error().message(), HasSubstr("less than 1000 bytes per second"));
    EXPECT_EQ(response.error().cause(), Cause::kTimedOut);
    EXPECT_EQ(server.requests().size(), 5u);
    SlowSink fast(f.clock, 1ms);
    EXPECT_TRUE(f.client.download({.url = server.url("/blob")}, fast));
}

TEST(core_fetch, get_ends_with_all_its_tries) {
    HttpServer server([&](const ServedRequest&) {
        return ServedResponse{.status = 503, .headers = {{"Retry-After", "299"}}};
    });
    Fixture f;
    EXPECT_EQ(f.client.get({.url = server.url("/")}, 100)->status, 503);
    EXPECT_EQ(server.requests().size(), 3u);  // at 0, 299 and 598 s of 600
}

TEST(core_fetch, get_ends_where_no_answer_comes) {
    std::promise<void> ended;
    HttpServer server([future = ended.get_future().share()](const ServedRequest&) {
        future.wait();
        return ServedResponse{};
    });
    HttpClient client({.stall_timeout = 24h, .longest_get = 100ms, .seed = 1}, system_clock());
    auto response = client.get({.url = server.url("/")}, 100);
    ended.set_value();
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().cause(), Cause::kTimedOut);
}

TEST(core_fetch, stopping_ends_a_delay) {
    std::atomic<bool> stopped = false;
    HttpServer server([&](const ServedRequest&) {
        stopped = true;
        return ServedResponse{.status = 503, .headers = {{"Retry-After", "299"}}};
    });
    HttpClient client({.stopped = &stopped, .seed = 1}, system_clock());
    (void)client.get({.url = server.url("/")}, 100);
    EXPECT_EQ(server.requests().size(), 1u);
}

TEST(core_fetch, download_refuses_another_range) {
    HttpServer server([](const ServedRequest&) {
        return ServedResponse{.status = 206, .headers = {{"Content-Range", "bytes 0-4/5"}}, .body = "hello"};
    });
    Fixture f;
    TextSink sink;
    sink.text = "he";
    auto response = f.client.download({.url = server.url("/blob")}, sink);
    ASSERT_FALSE(response);
    EXPECT_THAT(response.error().message(), HasSubstr("another range"));
    EXPECT_EQ(sink.text, "he");
}

TEST(core_fetch, download_ends_when_nothing_more_comes) {
    std::atomic<int> calls = 0;
    HttpServer server([&](const ServedRequest&) { return ServedResponse{.no_answer = ++calls > 0}; });
    Fixture f;
    TextSink sink;
    auto response = f.client.download({.url = server.url("/blob")}, sink);
    ASSERT_FALSE(response);
    EXPECT_THAT(response.error().message(), HasSubstr("cannot reach"));
    EXPECT_GE(calls, 5);
}

TEST(core_fetch, download_leaves_the_sink_alone_on_a_refusal) {
    HttpServer server(
        [](const ServedRequest&) { return ServedResponse{.status = 401, .body = "who are you?"}; });
    Fixture f;
    TextSink sink;
    auto response = f.client.download({.url = server.url("/blob")}, sink);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 401);
    EXPECT_EQ(response->body, "who are you?");
    EXPECT_EQ(sink.text, "");
}

TEST(core_fetch, authorization_stays_with_its_host) {
    HttpServer other([](const ServedRequest&) { return ServedResponse{.body = "blob"}; });
    HttpServer server([&](const ServedRequest& request) {
        if (request.target == "/here")
            return ServedResponse{.status = 307, .headers = {{"Location", "/there"}}};
        if (request.target == "/there") return ServedResponse{.body = "same"};
        return ServedResponse{.status = 307, .headers = {{"Location", other.url("/blob")}}, .body = "moved"};
    });
    Fixture f;
    auto response = f.client.get({.url = server.url("/away"), .authorization = "Bearer secret"}, 100);
    ASSERT_TRUE(response) << response.error().render();
    EXPECT_EQ(response->body, "blob");
    EXPECT_EQ(response->url, other.url("/blob"));
    EXPECT_EQ(server.requests()[0].header("authorization"), "Bearer secret");
    ASSERT_EQ(other.requests().size(), 1u);
    EXPECT_EQ(other.requests()[0].header("authorization"), "");
    response = f.client.get({.url = server.url("/here"), .authorization = "Bearer secret"}, 100);
    ASSERT_TRUE(response);
    EXPECT_EQ(server.requests().back().header("authorization"), "Bearer secret");
}

TEST(core_fetch, redirects_lead_nowhere_but_to_http) {
    for (std::string target : {"file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/"}) {
        HttpServer server([&](const ServedRequest&) {
            return ServedResponse{.status = 302, .headers = {{"Location", target}}};
        });
        Fixture f;
        EXPECT_FALSE(f.client.get({.url = server.url("/")}, 100)) << target;
    }
    HttpServer ring(
        [](const ServedRequest&) { return ServedResponse{.status = 302, .headers = {{"Location", "/"}}}; });
    Fixture f;
    EXPECT_FALSE(f.client.get({.url = ring.url("/")}, 100));
}

TEST(core_fetch, urls) {
    EXPECT_EQ(url_authority("https://a.b:5000/x"), "a.b:5000");
    EXPECT_EQ(url_authority("https://a.b/x"), "a.b");
    EXPECT_EQ(url_authority(":"), "");
    EXPECT_EQ(url_scheme("https://a"), "https");
    for (std::string host : {"localhost", "localhost:5000", "127.0.0.1", "127.1.2.3:80", "[::1]:5000", "::1"})
        EXPECT_TRUE(is_loopback(host)) << host;
    for (std::string host :
         {"127.evil.org", "localhost.evil.org", "128.0.0.1", "127.0.0.1.evil.org", "", "example.org:1"})
        EXPECT_FALSE(is_loopback(host)) << host;
    EXPECT_EQ(url_encode("repository:a/b:pull x"), "repository%3Aa%2Fb%3Apull%20x");
}

}  // namespace
}  // namespace belay::core::fetch
