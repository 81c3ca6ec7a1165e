#include "core/time.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;

TEST(core, times_of_any_microsecond_have_a_difference) {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max(),
                      kLeast = std::numeric_limits<int64_t>::min();
    EXPECT_EQ(time_from_microseconds(int64_t{1'500}), time_from_nanoseconds(1'500'000));
    EXPECT_EQ(time_from_microseconds(-1.0), time_from_nanoseconds(-1'000));
    EXPECT_EQ(time_from_microseconds(std::nan("")), Time());
    for (int64_t far : {kMost, kMost / 1000, kLeast, kLeast / 1000})
        for (double farther : {1e300, -1e300, 1e19, -1e19, static_cast<double>(kMost)})
            EXPECT_EQ(time_from_microseconds(far) - time_from_microseconds(farther) > Duration(),
                      far > 0 && farther < 0);
    EXPECT_GT(time_from_microseconds(kMost) - time_from_microseconds(kLeast), std::chrono::years(290));
}

TEST(core, time_is_written_with_microseconds) {
    EXPECT_EQ(format_time(Time()), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(format_time(time_from_nanoseconds(1'772'366'400'123'456'789)), "2026-03-01T12:00:00.123456Z");
    EXPECT_EQ(format_time(time_from_nanoseconds(-1'000)), "1969-12-31T23:59:59.999999Z");
}

TEST(core, time_is_read_in_the_usual_forms) {
    Time noon = time_from_nanoseconds(1'772'366'400'000'000'000);
    for (const char* text : {"2026-03-01T12:00:00Z", "2026-03-01 12:00:00.000Z", "2026-03-01T13:00:00+01:00",
                             "2026-03-01T06:30:00-0530", "2026-03-01T12:00:00.0000000009Z"})
        EXPECT_EQ(parse_time(text).value(), noon) << text;
    EXPECT_EQ(to_nanoseconds(parse_time("2026-03-01T12:00:00.123456789Z").value()),
              1'772'366'400'123'456'789);
    EXPECT_EQ(to_microseconds(noon), 1'772'366'400'000'000);
}

TEST(core, time_round_trips) {
    std::mt19937_64 random(20260301);
    for (int i = 0; i < 10'000; ++i) {
        int64_t micros = static_cast<int64_t>(random() % 9'000'000'000'000'000) - 4'000'000'000'000'000;
        Time time = time_from_nanoseconds(micros * 1'000);
        EXPECT_EQ(parse_time(format_time(time)).value(), time) << format_time(time);
    }
}

TEST(core, time_errors) {
    for (const char* text : {"", "2026", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
                             "2026-03-01T24:00:00Z", "2026-03-01T12:60:00Z", "2026-03-01T12:00:00",
                             "2026-03-01T12:00:00.Z", "2026-03-01T12:00:00Zx", "2026-03-01T12:00:00+25:00",
                             "-026-03-01T12:00:00Z", "9999-01-01T00:00:00Z", "0001-01-01T00:00:00Z"}) {
        auto time = parse_time(text);
        ASSERT_FALSE(time) << text;
        EXPECT_EQ(time.error().kind(), ErrorKind::kBadInput);
        EXPECT_NE(time.error().hint_text(), "");
    }
    EXPECT_TRUE(parse_time("2261-12-31T23:59:59.999999999Z"));
}

TEST(core, time_clock_that_is_moved) {
    ManualClock clock(time_from_nanoseconds(1'000));
    clock.advance(5ns);
    EXPECT_EQ(to_nanoseconds(clock.now()), 1'005);
    clock.sleep_until(12ns);
    EXPECT_EQ(clock.monotonic(), 12ns);
    EXPECT_EQ(to_nanoseconds(clock.now()), 1'012);
    clock.sleep_until(1ns);  // past
    EXPECT_EQ(clock.monotonic(), 12ns);
}

TEST(core, time_clock_of_the_system_does_not_go_back) {
    Clock& clock = system_clock();
    Duration before = clock.monotonic();
    clock.sleep_until(before + 1ms);
    EXPECT_GE(clock.monotonic(), before + 1ms);
    clock.sleep_until(before);
}

}  // namespace
}  // namespace belay::core
