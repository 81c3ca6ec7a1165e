#include "server/live/feed.h"

#include "core/file.h"
#include "server/blocks/testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kBegan;
using ::testing::Not;
using testing::piece_of;

class FeedTest : public ::testing::Test {
  protected:
    std::string taken(http::EventQueue& queue, std::vector<std::string> nodes = {"n1"},
                      core::Time from = kBegan) {
        const auto done =
            feed_.round({{.key = "job", .cluster = "", .nodes = std::move(nodes), .from = from}});
        EXPECT_TRUE(done) << (done ? "" : done.error().render());
        return queue.take().bytes;
    }

    core::ManualClock clock_{kBegan};
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
    std::unique_ptr<Intake> intake_ = Intake::open(directory_.path() / "blocks", "a", {}, clock_).value();
    LiveHub hub_;
    LiveFeed feed_{*intake_, hub_, clock_};
    std::shared_ptr<http::EventQueue> queue_ = hub_.join("job", "").value();
};

TEST_F(FeedTest, each_event_is_told_once) {
    ASSERT_TRUE(intake_->accept(piece_of(1, 4)));
    clock_.advance(std::chrono::seconds(5));
    EXPECT_THAT(taken(*queue_),
                AllOf(HasSubstr("event: event"), HasSubstr("\"task\":1"), HasSubstr("\"task\":3")));
    EXPECT_EQ(taken(*queue_), "");
    ASSERT_TRUE(intake_->accept(piece_of(4, 6)));
    EXPECT_THAT(taken(*queue_),
                AllOf(HasSubstr("\"task\":4"), HasSubstr("\"task\":5"), Not(HasSubstr("\"task\":3"))));
    clock_.advance(std::chrono::minutes(10));
    EXPECT_EQ(taken(*queue_), "");
}

TEST_F(FeedTest, events_of_other_nodes_and_from_before_the_job_are_not) {
    ASSERT_TRUE(intake_->accept(piece_of(1, 4)));
    ASSERT_TRUE(intake_->accept(piece_of(1, 4, "n2")));
    clock_.advance(std::chrono::seconds(5));
    EXPECT_EQ(taken(*queue_, {"n3"}), "");
    const std::string text = taken(*queue_, {"n1"}, kBegan + std::chrono::seconds(3));
    EXPECT_THAT(text, AllOf(HasSubstr("\"task\":3"), Not(HasSubstr("\"task\":2")), Not(HasSubstr("n2"))));
}

}  // namespace
}  // namespace belay::server
