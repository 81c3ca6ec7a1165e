#include "observe/fabric/link_restarts.h"

#include <algorithm>
#include <initializer_list>

#include <gtest/gtest.h>

namespace belay::observe::fabric {
namespace {

RestartTimes ring(std::initializer_list<int64_t> seconds) {
    RestartTimes times;
    times.fill(0);
    std::copy(seconds.begin(), seconds.end(), times.begin());
    return times;
}

TEST(observe_fabric, restarts_count_from_the_first_look_on) {
    LinkRestarts restarts;
    EXPECT_EQ(restarts.count(), std::nullopt);
    restarts.look(ring({1743569000, 1743569100}));
    EXPECT_EQ(restarts.count(), 0);
    EXPECT_EQ(restarts.last_seconds(), 1743569100);
    restarts.look(ring({1743569000, 1743569100}));
    EXPECT_EQ(restarts.count(), 0);
    restarts.look(ring({1743569000, 1743569100, 1743569213}));
    EXPECT_EQ(restarts.count(), 1);
    EXPECT_EQ(restarts.last_seconds(), 1743569213);
}

TEST(observe_fabric, a_full_ring_goes_on_from_its_beginning) {
    LinkRestarts restarts;
    restarts.look(ring({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    restarts.look(ring({11, 12, 3, 4, 5, 6, 7, 8, 9, 10}));
    EXPECT_EQ(restarts.count(), 2);
    restarts.look(ring({31, 32, 33, 34, 35, 36, 37, 38, 39, 40}));
    EXPECT_EQ(restarts.count(), 12) << "of more than ten, ten";
    EXPECT_EQ(restarts.last_seconds(), 40);
}

TEST(observe_fabric, a_ring_that_is_emptied_tells_of_no_restart) {
    LinkRestarts restarts;
    restarts.look(ring({1, 2}));
    restarts.look(ring({}));
    EXPECT_EQ(restarts.count(), 0);
    EXPECT_EQ(restarts.last_seconds(), 2);
    restarts.look(ring({5}));
    EXPECT_EQ(restarts.count(), 1);
    // Emptied and restarted between two looks.
    restarts.look(ring({9}));
    EXPECT_EQ(restarts.count(), 2);
}

TEST(observe_fabric, times_that_are_not_read_change_nothing) {
    LinkRestarts restarts;
    restarts.look({});
    EXPECT_EQ(restarts.count(), std::nullopt);
    EXPECT_EQ(restarts.last_seconds(), std::nullopt);
    restarts.look(ring({}));
    EXPECT_EQ(restarts.count(), 0);
    EXPECT_EQ(restarts.last_seconds(), std::nullopt);
    RestartTimes times = ring({7});
    times[0] = std::nullopt;
    restarts.look(times);
    EXPECT_EQ(restarts.count(), 0);
    restarts.look(ring({7}));
    EXPECT_EQ(restarts.count(), 1);
}

}  // namespace
}  // namespace belay::observe::fabric
