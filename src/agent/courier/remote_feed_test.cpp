#include "agent/courier/remote_feed.h"

#include "metrics/remote/testing.h"
#include "metrics/remote/write_request.h"

#include <algorithm>
#include <snappy-c.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

namespace remote = metrics::remote;
using metrics::Family;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const core::Time kFeedStart = core::time_from_nanoseconds(1'700'000'000'000'000'000);

Family watts(const std::string& device, double value, std::optional<core::Time> time) {
    return {.name = "belay_gpu_power_watts",
            .unit = "watts",
            .help = "power",
            .samples = {{.labels = {{"node", "n1"}, {"device", device}}, .value = value, .time = time}}};
}

// A receiver that takes all, and what it was sent: "DEVICE SECOND" of each point, "DEVICE SECOND ends" of a marker.
class Receiver {
  public:
    remote::Transport transport() {
        return [this](const remote::PostRequest& request) -> core::Result<remote::PostAnswer> {
            take(std::string(request.body));
            return remote::PostAnswer{.status = 204};
        };
    }
    std::vector<std::string> take_points() { return std::exchange(points_, {}); }
    size_t metadata = 0;
    std::string cluster;

  private:
    void take(const std::string& body) {
        size_t size = 0;
        ASSERT_EQ(snappy_uncompressed_length(body.data(), body.size(), &size), SNAPPY_OK);
        std::string message(size, '\0');
        ASSERT_EQ(snappy_uncompress(body.data(), body.size(), message.data(), &size), SNAPPY_OK);
        auto request = remote::testing::decode_request(message);
        ASSERT_TRUE(request);
        metadata += request->metadata.size();
        for (const auto& series : request->series) {
            std::string device;
            for (const metrics::Label& label : series.labels) {
                if (label.name == "device") device = label.value;
                if (label.name == "cluster") cluster = label.value;
            }
            for (const auto& point : series.points) {
                const int64_t second = point.milliseconds / 1000 - 1'700'000'000;
                // Remote write 1.0, "Stale Markers"
                const bool ends = point.bits == 0x7ff0000000000002;
                points_.push_back(fmt::format("{} {}{}", device, second, ends ? " ends" : ""));
            }
        }
    }
    std::vector<std::string> points_;
};

class Feeding {
  public:
    Feeding() : sender({.url = "http://127.0.0.1:1/"}, receiver.transport(), clock) {}
    void push(std::vector<Family> families, std::vector<Family> current, int second, bool is_at_end = true) {
        feed.add(std::move(families));
        auto pushed = feed.push(current, at(second), is_at_end);
        if (!pushed) ADD_FAILURE() << pushed.error().message();
        sender.send_due();
    }
    static core::Time at(int second) { return kFeedStart + seconds(second); }

    core::ManualClock clock{kFeedStart};
    Receiver receiver;
    remote::Sender sender;
    RemoteFeed feed{sender, seconds(12), {{"cluster", "c"}}};
};

TEST(agent_courier, a_feed_sends_rows_with_their_times_and_what_holds_now) {
    Feeding feeding;
    feeding.push(
        {watts("a", 1, Feeding::at(1)), watts("b", 2, Feeding::at(1)), watts("a", 3, Feeding::at(2))},
        {watts("now", 1, std::nullopt)}, 3);
    EXPECT_THAT(feeding.receiver.take_points(), ElementsAre("a 1", "a 2", "b 1", "now 3"));
    EXPECT_EQ(feeding.receiver.cluster, "c");
    feeding.push({}, {}, 4);
    EXPECT_THAT(feeding.receiver.take_points(), IsEmpty());
}

TEST(agent_courier, a_feed_marks_what_has_ended) {
    Feeding feeding;
    for (int second = 0; second <= 20; ++second) {
        std::vector<Family> rows{watts("b", 1, Feeding::at(second))};
        if (second < 5) rows.push_back(watts("a", 1, Feeding::at(second)));
        feeding.push(rows, {}, second);
    }
    const auto points = feeding.receiver.take_points();
    EXPECT_EQ(std::ranges::count(points, "a 16 ends"), 1);
    EXPECT_EQ(std::ranges::count_if(points, [](const std::string& one) { return one.ends_with("ends"); }), 1);
    ASSERT_TRUE(feeding.feed.end());
    feeding.sender.send_due();
    EXPECT_THAT(feeding.receiver.take_points(), ElementsAre("b 20 ends")) << "a millisecond later";
}

TEST(agent_courier, what_is_read_late_has_not_ended) {
    Feeding feeding;
    for (int second = 0; second <= 50; ++second)
        feeding.push({watts("a", 1, Feeding::at(second))}, {}, 1000, false);
    const auto points = feeding.receiver.take_points();
    EXPECT_EQ(points.size(), 51U) << "no marker among them";
    feeding.push({}, {}, 1000, true);
    EXPECT_THAT(feeding.receiver.take_points(), ElementsAre("a 62 ends"));
}

TEST(agent_courier, families_are_described_once_a_minute) {
    Feeding feeding;
    feeding.push({}, {}, 0);
    const size_t described = feeding.receiver.metadata;
    EXPECT_GT(described, 50U);
    feeding.push({}, {}, 59);
    EXPECT_EQ(feeding.receiver.metadata, described);
    feeding.push({}, {watts("now", 1, std::nullopt)}, 60);
    EXPECT_EQ(feeding.receiver.metadata, 2 * described + 1);
}

}  // namespace
}  // namespace belay::agent
