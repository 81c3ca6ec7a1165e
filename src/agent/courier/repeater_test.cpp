#include "agent/courier/repeater.h"

#include <atomic>
#include <chrono>
#include <semaphore>

#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

TEST(agent_courier, work_is_repeated_when_it_says_and_when_it_is_woken) {
    std::counting_semaphore<1000> done(0);
    std::atomic<int> times = 0;
    Repeater repeater([&]() -> std::optional<core::Duration> {
        const int time = ++times;
        done.release();
        if (time < 3) return milliseconds(1);
        if (time == 3) return hours(9);
        return std::nullopt;
    });
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(done.try_acquire_for(minutes(1))) << i;
    EXPECT_EQ(times, 3) << "the next one is in hours";
    repeater.wake();
    ASSERT_TRUE(done.try_acquire_for(minutes(1)));
    repeater.wake();
    ASSERT_TRUE(done.try_acquire_for(minutes(1)));
    EXPECT_EQ(times, 5);
}

TEST(agent_courier, being_woken_during_the_work_is_not_lost) {
    std::counting_semaphore<10> begun(0), goes_on(0), done(0);
    Repeater repeater([&]() -> std::optional<core::Duration> {
        begun.release();
        EXPECT_TRUE(goes_on.try_acquire_for(minutes(1)));
        done.release();
        return std::nullopt;
    });
    ASSERT_TRUE(begun.try_acquire_for(minutes(1)));
    repeater.wake();
    goes_on.release(2);
    EXPECT_TRUE(done.try_acquire_for(minutes(1)));
    EXPECT_TRUE(done.try_acquire_for(minutes(1))) << "once more";
}

}  // namespace
}  // namespace belay::agent
