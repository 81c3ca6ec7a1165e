#include "core/deadline.h"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;

TEST(core, deadline_follows_its_clock) {
    ManualClock clock(Time{});
    Deadline deadline = Deadline::after(2500us, clock);
    EXPECT_FALSE(deadline.is_over());
    EXPECT_EQ(deadline.left(), 2500us);
    EXPECT_EQ(deadline.poll_milliseconds(), 3) << "rounded up: a wait that it ended is over";
    clock.advance(2500us);
    EXPECT_TRUE(deadline.is_over());
    clock.advance(1s);
    EXPECT_EQ(deadline.left(), 0s);
    EXPECT_EQ(deadline.poll_milliseconds(), 0);
}

TEST(core, deadline_that_never_comes) {
    EXPECT_TRUE(Deadline::never().is_never());
    EXPECT_FALSE(Deadline::never().is_over());
    EXPECT_EQ(Deadline::never().poll_milliseconds(), -1);
    ManualClock clock(Time{});
    clock.advance(1h);
    EXPECT_TRUE(Deadline::after(Duration::max(), clock).is_never()) << "no overflow";
    EXPECT_EQ(Deadline::after(std::chrono::hours(24 * 365), clock).poll_milliseconds(),
              std::numeric_limits<int>::max());
}

TEST(core, deadline_of_a_part_is_within_that_of_the_whole) {
    ManualClock clock(Time{});
    Deadline whole = Deadline::after(10s, clock);
    EXPECT_EQ(whole.but_within(3s).left(), 3s);
    EXPECT_EQ(whole.but_within(30s).left(), 10s);
    EXPECT_TRUE(Deadline::after(-1s, clock).is_over());
}

}  // namespace
}  // namespace belay::core
