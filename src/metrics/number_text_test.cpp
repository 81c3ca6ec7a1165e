#include "metrics/number_text.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace belay::metrics {
namespace {

TEST(metrics, numbers_are_the_shortest_that_come_back) {
    EXPECT_EQ(number_text(0), "0");
    EXPECT_EQ(number_text(-0.0), "-0");
    EXPECT_EQ(number_text(1), "1");
    EXPECT_EQ(number_text(0.1), "0.1");
    EXPECT_EQ(number_text(0.1 + 0.2), "0.30000000000000004");
    EXPECT_EQ(number_text(1e20), "1e+20");
    EXPECT_EQ(number_text(9007199254740993.0), "9007199254740992");
    EXPECT_EQ(number_text(5e-324), "5e-324");
    EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "NaN");
    EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "+Inf");
    EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-Inf");
}

TEST(metrics, every_number_comes_back) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 20'000; ++i) {
        const auto value = std::bit_cast<double>(random());
        auto back = parse_number_text(number_text(value));
        ASSERT_TRUE(back) << number_text(value);
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(*back));
        } else
            EXPECT_EQ(std::bit_cast<uint64_t>(*back), std::bit_cast<uint64_t>(value));
        if (!std::isfinite(value)) continue;
        auto bound = parse_bound_text(bound_text(value));
        ASSERT_TRUE(bound) << bound_text(value);
        EXPECT_EQ(std::bit_cast<uint64_t>(*bound), std::bit_cast<uint64_t>(value));
    }
}

TEST(metrics, a_number_has_one_text_only) {
    for (const char* text : {"", " 1", "1 ", "+1", "1.0", "01", "1e5", "0x10", "inf", "nan", "Inf", "+inf",
                             "1e999", "--1", "1,5", "1e+020", ".5", "NaN1"})
        EXPECT_FALSE(parse_number_text(text)) << text;
    for (const char* text : {"", "1", "1.00", "NaN", "-Inf", "inf", "1e+05", "1e6"})
        EXPECT_FALSE(parse_bound_text(text)) << text;
}

// The examples of OpenMetrics 1.0, "Canonical Numbers".
TEST(metrics, bounds_are_canonical) {
    const std::pair<double, const char*> cases[] = {
        {0, "0.0"},
        {0.001, "0.001"},
        {0.01, "0.01"},
        {0.95, "0.95"},
        {1, "1.0"},
        {1.7, "1.7"},
        {10, "10.0"},
        {1e-10, "1e-10"},
        {1e-9, "1e-09"},
        {1e-5, "1e-05"},
        {0.0001, "0.0001"},
        {100, "100.0"},
        {1e5, "100000.0"},
        {1e6, "1e+06"},
        {1e10, "1e+10"},
        {1.1e23, "1.1e+23"},
        {-2.5, "-2.5"},
        {-1e-5, "-1e-05"},
        {1234567, "1.234567e+06"},
        {std::numeric_limits<double>::infinity(), "+Inf"},
    };
    for (const auto& [bound, text] : cases) EXPECT_EQ(bound_text(bound), text);
}

TEST(metrics, times_are_exact_seconds) {
    const std::pair<int64_t, const char*> cases[] = {
        {0, "0"},
        {1, "0.000000001"},
        {-1, "-0.000000001"},
        {1'700'000'000'500'000'000, "1700000000.5"},
        {1'700'000'000'000'000'000, "1700000000"},
        {1'604'676'851'123'456'789, "1604676851.123456789"},
        {std::numeric_limits<int64_t>::max(), "9223372036.854775807"},
        {std::numeric_limits<int64_t>::min(), "-9223372036.854775808"},
    };
    for (const auto& [nanoseconds, text] : cases) {
        const core::Time time = core::time_from_nanoseconds(nanoseconds);
        EXPECT_EQ(seconds_text(time), text);
        EXPECT_EQ(parse_seconds_text(text), time);
    }
    for (const char* text : {"", "-", ".", "1.", ".5", "1.50", "+1", "1e9", "1.0000000001",
                             "9223372036.854775808", "99999999999999999999", "-0", "1 ", "1.-5", "01"})
        EXPECT_FALSE(parse_seconds_text(text)) << text;
}

TEST(metrics, milliseconds_round_down) {
    EXPECT_EQ(milliseconds_of(core::time_from_nanoseconds(1'999'999)), 1);
    EXPECT_EQ(milliseconds_of(core::time_from_nanoseconds(-1)), -1);
    EXPECT_EQ(time_of_milliseconds(-1), core::time_from_nanoseconds(-1'000'000));
    EXPECT_FALSE(time_of_milliseconds(std::numeric_limits<int64_t>::max()));
    EXPECT_FALSE(time_of_milliseconds(std::numeric_limits<int64_t>::min()));
}

}  // namespace
}  // namespace belay::metrics
