#include "metrics/remote/stale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::metrics::remote {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

core::Time second(int64_t number) {
    return core::time_from_nanoseconds(number * 1'000'000'000);
}
Series seen(const char* name, int64_t milliseconds) {
    return {.labels = {{"__name__", name}}, .points = {{milliseconds, 1.0}}};
}
Series marker(const char* name, int64_t milliseconds) {
    return {.labels = {{"__name__", name}}, .points = {{.milliseconds = milliseconds, .stale = true}}};
}

TEST(metrics_remote, a_series_that_falls_silent_gets_one_marker) {
    StaleTracker tracker(3s);
    tracker.saw(std::vector{seen("a", 10'000), seen("b", 10'000)});
    EXPECT_THAT(tracker.ended(second(12)), IsEmpty());
    tracker.saw(std::vector{seen("b", 12'000)});
    EXPECT_THAT(tracker.ended(second(13)), ElementsAre(marker("a", 13'000)));
    EXPECT_THAT(tracker.ended(second(14)), IsEmpty());
    EXPECT_EQ(tracker.series(), 1u);
    // It comes back, and ends again.
    tracker.saw(std::vector{seen("a", 20'000)});
    EXPECT_THAT(tracker.ended(second(60)), ElementsAre(marker("a", 23'000), marker("b", 15'000)));
    EXPECT_EQ(tracker.series(), 0u);
}

TEST(metrics_remote, late_samples_do_not_move_the_end_back) {
    StaleTracker tracker(3s);
    tracker.saw(std::vector{seen("a", 10'000)});
    tracker.saw(std::vector{seen("a", 5'000)});
    EXPECT_THAT(tracker.ended(second(12)), IsEmpty());
    EXPECT_THAT(tracker.ended(second(13)), ElementsAre(marker("a", 13'000)));
}

TEST(metrics_remote, all_series_end_with_their_sender) {
    StaleTracker tracker(3s);
    tracker.saw(std::vector{seen("b", 12'000), seen("a", 10'000),
                            Series{.labels = {{"__name__", "c"}}, .points = {}}});
    EXPECT_THAT(tracker.end_all(), ElementsAre(marker("a", 10'001), marker("b", 12'001)));
    EXPECT_THAT(tracker.end_all(), IsEmpty());
}

TEST(metrics_remote, a_series_that_ended_by_itself_is_forgotten) {
    StaleTracker tracker(3s);
    tracker.saw(std::vector{seen("a", 10'000)});
    tracker.saw(std::vector{marker("a", 11'000), marker("b", 11'000)});
    EXPECT_EQ(tracker.series(), 0u);
}

TEST(metrics_remote, series_beyond_the_most_are_not_tracked) {
    StaleTracker tracker(3s, 2);
    tracker.saw(std::vector{seen("a", 1), seen("b", 1), seen("c", 1)});
    EXPECT_EQ(tracker.series(), 2u);
    tracker.saw(std::vector{seen("a", 2)});
    EXPECT_THAT(tracker.end_all(), ElementsAre(marker("a", 3), marker("b", 2)));
}

}  // namespace
}  // namespace belay::metrics::remote
