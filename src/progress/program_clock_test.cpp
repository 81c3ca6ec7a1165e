#include "progress/program_clock.h"

#include "progress/reader.h"

#include <gtest/gtest.h>

namespace belay::progress {
namespace {

using namespace std::chrono_literals;

const core::Time kOctober(std::chrono::sys_days(std::chrono::year(2026) / 10 / 25).time_since_epoch() + 1h);

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
        clock.read(line, kOctober);
    EXPECT_EQ(clock.jumps(), 0) << "two lines may be another library's";
    clock.read("2026-10-25 02:01:00,100 INFO step 24", kOctober);
    EXPECT_EQ(clock.jumps(), 1);
    EXPECT_EQ(clock.longest_jump(), 59min + 59s);
    for (const char* line : {"2026-13-01 00:00:00", "2026-10-25 25:00:00", "2026-1x-25 02:00:00",
                             "2026-10-25", "", "1999-99-99T99:99:99"})
        clock.read(line, kOctober);
    EXPECT_EQ(clock.jumps(), 1) << "these are not times";
    clock.read("2026-10-25 02:30:00 step 25", kOctober);
    clock.read("2026-10-25 03:01:30 step 26", kOctober);
    EXPECT_EQ(clock.jumps(), 1) << "it goes on from there";
}

TEST(progress, stamps_in_two_zones_are_not_jumps) {
    ProgramClock clock;
    const std::string local = "2026-10-25 03:10:0", half = "2026-10-25 01:40:0", utc = "2026-10-25 01:10:0";
    for (const std::string& other : {half, utc})
        for (int second = 0; second < 9; second += 3) {
            clock.read(local + std::to_string(second), kOctober);
            for (int i = 0; i < 3; ++i) clock.read(other + std::to_string(second + i), kOctober);
        }
    clock.read(local + "9", kOctober);
    EXPECT_EQ(clock.jumps(), 0);
    EXPECT_EQ(clock.longest_jump(), 0s);
}

TEST(progress, stamps_of_data_are_not_jumps) {
    ProgramClock clock;
    for (int epoch = 0; epoch < 2; ++epoch)
        for (const char* line : {"2019-01-01 00:00:00 rmse 0.1", "2019-06-01 00:00:00 rmse 0.1",
                                 "2020-01-01 00:00:00 rmse 0.1", "2020-12-31 00:00:00 rmse 0.1"})
            clock.read(line, kOctober);
    EXPECT_EQ(clock.jumps(), 0);
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
