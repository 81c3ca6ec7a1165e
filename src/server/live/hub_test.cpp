#include "server/live/hub.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<http::EventQueue> joined(LiveHub& hub, const std::string& job, std::string_view last = "") {
    auto queue = hub.join(job, last);
    EXPECT_TRUE(queue) << (queue ? "" : queue.error().render());
    return queue.value_or(nullptr);
}

TEST(live_hub, readers_of_a_job_get_its_events_and_no_others) {
    LiveHub hub;
    const auto a = joined(hub, "a"), also_a = joined(hub, "a"), b = joined(hub, "b");
    hub.publish("a", "progress", R"({"step":1})");
    hub.publish("b", "progress", R"({"step":2})");
    EXPECT_THAT(a->take().bytes,
                AllOf(HasSubstr("id: 1"), HasSubstr(R"({"step":1})"), Not(HasSubstr(R"("step":2)"))));
    EXPECT_THAT(also_a->take().bytes, HasSubstr(R"({"step":1})"));
    EXPECT_THAT(b->take().bytes, AllOf(HasSubstr("id: 1"), HasSubstr(R"({"step":2})")));
    EXPECT_THAT(hub.jobs_with_readers(), ::testing::ElementsAre("a", "b"));
}

TEST(live_hub, a_reader_that_comes_again_goes_on_where_it_was) {
    LiveHub hub;
    const auto other = joined(hub, "a");
    for (int i = 1; i <= 5; ++i) hub.publish("a", "progress", "number" + std::to_string(i));
    EXPECT_THAT(joined(hub, "a", "3")->take().bytes, AllOf(Not(HasSubstr("number3")), HasSubstr("number4"),
                                                           HasSubstr("number5"), Not(HasSubstr("gap"))));
    EXPECT_EQ(joined(hub, "a", "5")->take().bytes, "");
    EXPECT_EQ(joined(hub, "a", "")->take().bytes, "");
    EXPECT_EQ(joined(hub, "a", "three")->take().bytes, "");
}

TEST(live_hub, a_reader_learns_that_events_are_gone) {
    LiveHub hub({.kept_bytes = 20});
    const auto other = joined(hub, "a");
    for (int i = 1; i <= 9; ++i) hub.publish("a", "progress", "number" + std::to_string(i));
    EXPECT_THAT(joined(hub, "a", "3")->take().bytes,
                AllOf(HasSubstr("event: gap"), Not(HasSubstr("number4")), HasSubstr("number9")));
    // Of another run of belayd, which counted further.
    EXPECT_THAT(joined(hub, "a", "4000")->take().bytes, AllOf(HasSubstr("event: gap"), HasSubstr("number9")));
}

TEST(live_hub, a_reader_that_is_gone_or_too_slow_counts_no_more) {
    LiveHub hub({.queue_bytes = 100});
    const auto slow = joined(hub, "a");
    const auto gone = joined(hub, "a");
    gone->close();
    EXPECT_EQ(hub.readers(), 1u);
    for (int i = 0; i < 20; ++i) hub.publish("a", "progress", "0123456789");
    EXPECT_TRUE(slow->is_too_slow());
    EXPECT_EQ(hub.readers(), 0u);
    EXPECT_TRUE(hub.jobs_with_readers().empty());
}

TEST(live_hub, there_are_bounds) {
    LiveHub hub({.readers = 3, .readers_of_job = 2});
    const auto first = joined(hub, "a"), second = joined(hub, "a");
    auto refused = hub.join("a", "");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().cause(), core::Cause::kNoSpace);
    const auto third = joined(hub, "b");
    EXPECT_FALSE(hub.join("c", ""));
    first->close();
    EXPECT_TRUE(hub.join("c", ""));
}

TEST(live_hub, the_end_of_a_job_ends_its_readers) {
    LiveHub hub;
    const auto a = joined(hub, "a"), b = joined(hub, "b");
    hub.finish("a", R"({"state":"COMPLETED"})");
    const auto taken = a->take();
    EXPECT_THAT(taken.bytes, AllOf(HasSubstr("event: end"), HasSubstr("COMPLETED")));
    EXPECT_TRUE(taken.ended);
    EXPECT_TRUE(b->is_open());
    hub.finish("never", "{}");
    hub.publish("never", "progress", "{}");
    EXPECT_THAT(hub.jobs_with_readers(), ::testing::ElementsAre("b"));
}

}  // namespace
}  // namespace belay::server
