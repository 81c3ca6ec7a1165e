#include "progress/program_clock.h"

#include "progress/reader.h"

#include <gtest/gtest.h>

namespace belay::progress {
namespace {

using namespace std::chrono_literals;

TEST(progress, times_that_go_back_are_not_believed) {
    ProgramClock clock;
    const core::Time start = core::time_from_nanoseconds(1'772'366'400'000'000'000);
    EXPECT_TRUE(clock.believe(start));
    EXPECT_TRUE(clock.believe(start + 10s));
    EXPECT_TRUE(clock.believe(start - 20s)) << "of another process";
    EXPECT_FALSE(clock.believe(start - 1h + 20s));
    EXPECT_FALSE(clock.believe(start - 1h + 30s)) << "until it is where it was";
    EXPECT_EQ(clock.jumps(), 1);
    EXPECT_TRUE(clock.believe(start + 11s));
    EXPECT_EQ(clock.longest_jump(), 1h - 10s);
}

TEST(progress, stamps_of_lines_tell_jumps) {
    ProgramClock clock;
    for (const char* line :
         {"2026-10-25 02:59:58,727 INFO step 20", "no time", "[2026-10-25T02:59:59] step 21",
          "2026-10-25 02:00:00,100 INFO step 22", "2026-10-25 02:00:30,100 INFO step 23"})
        clock.read(line);
    EXPECT_EQ(clock.jumps(), 1);
    EXPECT_EQ(clock.longest_jump(), 59min + 59s);
    for (const char* line : {"2026-13-01 00:00:00", "2026-10-25 25:00:00", "2026-1x-25 02:00:00",
                             "2026-10-25", "", "1999-99-99T99:99:99"})
        clock.read(line);
    EXPECT_EQ(clock.jumps(), 1) << "these are no times";
}

TEST(progress, events_before_their_time_have_the_time_at_which_they_were_read) {
    std::vector<ProgressEvent> events;
    ProgressReader reader({}, [&](const ProgressEvent& event) { events.push_back(event); });
    auto line = [](const char* time) {
        return std::string(R"(:::MLLOG {"namespace": "", "time_ms": )") + time +
               R"(, "event_type": "POINT_IN_TIME", "key": "tracked_stats", "value": {"loss": 1}, "metadata": {}})"
               "\n";
    };
    reader.feed(line("1772366400000") + line("1772362860000"));
    ASSERT_EQ(events.size(), 2U);
    EXPECT_TRUE(events[0].time);
    EXPECT_FALSE(events[1].time);
    EXPECT_EQ(reader.counts().clock_jumps, 1);
    EXPECT_EQ(reader.counts().longest_clock_jump, 59min);
}

}  // namespace
}  // namespace belay::progress
