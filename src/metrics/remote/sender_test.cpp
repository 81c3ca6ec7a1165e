#include "metrics/remote/sender.h"

#include "metrics/remote/testing.h"

#include <deque>
#include <snappy-c.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::metrics::remote {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using namespace std::chrono_literals;

std::string unpacked(std::string_view body) {
    size_t size = 0;
    EXPECT_EQ(snappy_uncompressed_length(body.data(), body.size(), &size), SNAPPY_OK);
    std::string out(size, '\0');
    EXPECT_EQ(snappy_uncompress(body.data(), body.size(), out.data(), &size), SNAPPY_OK);
    return out;
}

std::vector<Series> one_point(int64_t milliseconds, const std::string& name = "up") {
    return {{.labels = {{"__name__", name}}, .points = {{milliseconds, 1.0}}}};
}

// A sender whose receiver answers as it is told to; nothing waits, the clock is moved instead.
struct Rig {
    core::ManualClock clock{core::time_from_nanoseconds(1'700'000'000'000'000'000)};
    std::deque<core::Result<PostAnswer>> answers;  // then 204
    std::vector<PostRequest> requests;
    std::vector<std::string> bodies;
    std::vector<std::string> messages;
    std::vector<core::Duration> times;
    std::function<void()> while_sending = [] {};
    SenderOptions options{.url = "http://127.0.0.1:8428/api/v1/write",
                          .tell = [this](const std::string& message) { messages.push_back(message); },
                          .seed = 1};

    Sender sender() {
        return Sender(
            options,
            [this](const PostRequest& request) -> core::Result<PostAnswer> {
                requests.push_back(request);
                bodies.emplace_back(request.body);
                times.push_back(clock.monotonic());
                while_sending();
                if (answers.empty()) return PostAnswer{.status = 204};
                auto answer = std::move(answers.front());
                answers.pop_front();
                return answer;
            },
            clock);
    }

    void answer_times(size_t times_in_all, PostAnswer answer) {
        for (size_t i = 0; i < times_in_all; ++i) answers.emplace_back(answer);
    }
    // Until nothing waits; how often the sender was called.
    int send_all(Sender& sender) {
        int calls = 1;
        for (auto next = sender.send_due(); next; next = sender.send_due(), ++calls) clock.advance(*next);
        return calls;
    }
    std::vector<int64_t> delivered_times() const {
        std::vector<int64_t> all;
        for (const std::string& body : bodies) {
            const auto request = testing::decode_request(unpacked(body));
            for (const auto& series : request->series)
                for (const auto& point : series.points) all.push_back(point.milliseconds);
        }
        return all;
    }
};

TEST(metrics_remote, statuses_that_may_pass_are_tried_again) {
    for (int status : {200, 204, 299}) EXPECT_EQ(judge(status), Verdict::kDelivered) << status;
    for (int status : {429, 500, 502, 503, 599}) EXPECT_EQ(judge(status), Verdict::kTryAgain) << status;
    for (int status : {0, 100, 301, 302, 400, 401, 404, 408, 413, 422, 600})
        EXPECT_EQ(judge(status), Verdict::kRefused) << status;
}

TEST(metrics_remote, a_request_is_what_the_protocol_asks_for) {
    Rig rig;
    rig.options.user_agent = "belay/0.7.0";
    rig.options.authorization = [] { return core::Result<std::string>("Bearer x"); };
    Sender sender = rig.sender();
    EXPECT_EQ(sender.send_due(), std::nullopt);
    ASSERT_TRUE(sender.push(one_point(7), std::vector<Metadata>{{"up", MetricType::kGauge, "h", ""}}));
    EXPECT_EQ(sender.counts().waiting, 1u);
    EXPECT_EQ(sender.send_due(), std::nullopt);
    ASSERT_THAT(rig.requests, SizeIs(1));
    EXPECT_EQ(rig.requests[0].url, "http://127.0.0.1:8428/api/v1/write");
    EXPECT_THAT(
        rig.requests[0].headers,
        ElementsAre(Pair("Content-Encoding", "snappy"), Pair("Content-Type", "application/x-protobuf"),
                    Pair("X-Prometheus-Remote-Write-Version", "0.1.0"), Pair("User-Agent", "belay/0.7.0")));
    EXPECT_EQ(rig.requests[0].authorization, "Bearer x");
    auto decoded = testing::decode_request(unpacked(rig.bodies[0]));
    ASSERT_TRUE(decoded);
    EXPECT_THAT(decoded->series, SizeIs(1));
    EXPECT_THAT(decoded->metadata, SizeIs(1));
    EXPECT_EQ(sender.counts(), (SenderCounts{.delivered = 1, .requests = 1}));
    EXPECT_THAT(rig.messages, IsEmpty());
}

TEST(metrics_remote, an_outage_loses_nothing_and_is_told_once) {
    Rig rig;
    rig.answers.emplace_back(
        std::unexpected(core::system_error("cannot reach 127.0.0.1:8428: refused").error()));
    rig.answer_times(3, {.status = 503, .body = "busy\nmore"});
    Sender sender = rig.sender();
    ASSERT_TRUE(sender.push(one_point(1)));
    ASSERT_TRUE(sender.push(one_point(2)));
    EXPECT_EQ(rig.send_all(sender), 5);
    EXPECT_THAT(rig.delivered_times(), ElementsAre(1, 1, 1, 1, 1, 2)) << "the order stays";
    EXPECT_EQ(sender.counts(), (SenderCounts{.delivered = 2, .requests = 6, .tries_again = 4}));
    EXPECT_THAT(rig.messages,
                ElementsAre("metrics wait and are sent again: cannot reach 127.0.0.1:8428: refused"));
    // Delays double, each times 0.5 to 1.5.
    core::Duration expected = 1s;
    for (size_t i = 1; i < 5; ++i, expected *= 2) {
        EXPECT_GE(rig.times[i] - rig.times[i - 1], expected / 2);
        EXPECT_LE(rig.times[i] - rig.times[i - 1], expected * 3 / 2);
    }
}

TEST(metrics_remote, delays_have_an_end_and_begin_anew) {
    Rig rig;
    rig.answer_times(20, {.status = 500});
    Sender sender = rig.sender();
    ASSERT_TRUE(sender.push(one_point(1)));
    rig.send_all(sender);
    for (size_t i = 1; i < rig.times.size(); ++i) EXPECT_LE(rig.times[i] - rig.times[i - 1], 30s);
    rig.answer_times(1, {.status = 500});
    ASSERT_TRUE(sender.push(one_point(2)));
    auto next = sender.send_due();
    ASSERT_TRUE(next);
    EXPECT_LE(*next, 1500ms);
    EXPECT_EQ(sender.send_due(), next) << "not before it is due";
}

TEST(metrics_remote, retry_after_is_honoured_within_limits) {
    const std::pair<const char*, core::Duration> cases[] = {
        {"7", 7s}, {"0", 100ms}, {"Tue, 14 Nov 2023 22:14:20 GMT", 60s}, {"86400", 5min}};
    for (const auto& [retry_after, delay] : cases) {
        Rig rig;
        rig.answer_times(1, {.status = 429, .retry_after = retry_after});
        Sender sender = rig.sender();
        ASSERT_TRUE(sender.push(one_point(1)));
        EXPECT_EQ(sender.send_due(), delay) << retry_after;
        rig.send_all(sender);
        EXPECT_EQ(sender.counts().delivered, 1u);
    }
}

TEST(metrics_remote, what_is_refused_is_dropped_with_one_message) {
    Rig rig;
    rig.answer_times(3, {.status = 400, .body = "out of order\x1b[31m\nline two"});
    Sender sender = rig.sender();
    for (int64_t time : {1, 2, 3, 4}) ASSERT_TRUE(sender.push(one_point(time)));
    EXPECT_EQ(sender.send_due(), std::nullopt);
    EXPECT_EQ(sender.counts(), (SenderCounts{.delivered = 1, .refused = 3, .requests = 4}));
    EXPECT_THAT(rig.messages,
                ElementsAre("127.0.0.1:8428 refuses metrics with status 400: out of order?[31m: such "
                            "samples are dropped"));
    // Told again after a while.
    rig.answer_times(1, {.status = 404});
    rig.clock.advance(10min);
    ASSERT_TRUE(sender.push(one_point(5)));
    EXPECT_EQ(sender.send_due(), std::nullopt);
    EXPECT_THAT(rig.messages, SizeIs(2));
}

TEST(metrics_remote, a_full_queue_drops_the_oldest_and_counts_them) {
    Rig rig;
    rig.options.queue_bytes = 3 * compress(encode(one_point(1), {}, {}).batches.at(0).message)->size();
    Sender sender = rig.sender();
    for (int64_t time : {1, 2, 3, 4, 5}) ASSERT_TRUE(sender.push(one_point(time)));
    EXPECT_EQ(sender.counts(), (SenderCounts{.dropped = 2, .waiting = 3}));
    EXPECT_THAT(rig.messages,
                ElementsAre(AllOf(HasSubstr("more metrics wait for 127.0.0.1:8428"), HasSubstr("oldest"))));
    EXPECT_EQ(sender.send_due(), std::nullopt);
    EXPECT_THAT(rig.delivered_times(), ElementsAre(3, 4, 5));
    EXPECT_EQ(sender.counts(), (SenderCounts{.delivered = 3, .dropped = 2, .requests = 3}));
}

TEST(metrics_remote, what_is_being_sent_is_the_oldest_when_it_comes_back) {
    Rig rig;
    rig.options.queue_bytes = 2 * compress(encode(one_point(1), {}, {}).batches.at(0).message)->size();
    rig.answer_times(1, {.status = 503});
    Sender sender = rig.sender();
    ASSERT_TRUE(sender.push(one_point(1)));
    rig.while_sending = [&] {
        if (rig.requests.size() > 1) return;
        for (int64_t time : {2, 3}) ASSERT_TRUE(sender.push(one_point(time)));
    };
    rig.send_all(sender);
    EXPECT_THAT(rig.delivered_times(), ElementsAre(1, 2, 3)) << "1 was tried, and dropped when it came back";
    EXPECT_EQ(sender.counts(), (SenderCounts{.delivered = 2, .dropped = 1, .requests = 3, .tries_again = 1}));
}

TEST(metrics_remote, large_pushes_become_several_requests) {
    Rig rig;
    rig.options.batch = {.samples = 2, .bytes = 1000};
    Sender sender = rig.sender();
    std::vector<Series> series = one_point(1, std::string(2000, 'x'));
    for (int i = 0; i < 5; ++i) series.push_back(one_point(i, fmt::format("s{}", i))[0]);
    ASSERT_TRUE(sender.push(series));
    EXPECT_EQ(sender.send_due(), std::nullopt);
    EXPECT_THAT(rig.requests, SizeIs(3));
    EXPECT_EQ(sender.counts(), (SenderCounts{.delivered = 5, .too_large = 1, .requests = 3}));
}

TEST(metrics_remote, without_credentials_nothing_is_sent) {
    Rig rig;
    bool there = false;
    rig.options.authorization = [&]() -> core::Result<std::string> {
        if (there) return "Bearer y";
        return core::bad_input("/etc/token holds credentials, but others may use it");
    };
    Sender sender = rig.sender();
    ASSERT_TRUE(sender.push(one_point(1)));
    ASSERT_TRUE(sender.send_due());
    EXPECT_THAT(rig.requests, IsEmpty());
    EXPECT_THAT(rig.messages, Contains(HasSubstr("/etc/token")));
    there = true;
    rig.send_all(sender);
    ASSERT_THAT(rig.requests, SizeIs(1));
    EXPECT_EQ(rig.requests[0].authorization, "Bearer y");
}

TEST(metrics_remote, a_sender_that_is_stopped_sends_no_more) {
    Rig rig;
    std::atomic<bool> stopped = false;
    rig.options.stopped = &stopped;
    rig.while_sending = [&] { stopped = true; };
    Sender sender = rig.sender();
    for (int64_t time : {1, 2}) ASSERT_TRUE(sender.push(one_point(time)));
    EXPECT_EQ(sender.send_due(), 0s);
    EXPECT_THAT(rig.requests, SizeIs(1));
    EXPECT_EQ(sender.counts().waiting, 1u);
}

}  // namespace
}  // namespace belay::metrics::remote
