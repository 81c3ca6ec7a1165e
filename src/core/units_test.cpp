#include "core/units.h"

#include <chrono>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Values of every magnitude, round ones among them.
template <typename Check>
void for_many_values(uint64_t limit, Check check) {
    std::mt19937_64 random(20260301);
    for (int i = 0; i < 20'000; ++i) {
        uint64_t value = random() >> (random() % 64);
        uint64_t round = 1;
        for (uint64_t steps = random() % 19; steps > 0; --steps) round *= 10;
        for (uint64_t candidate : {value, value - value % round}) {
            if (candidate <= limit) check(candidate);
            if (testing::Test::HasFailure()) return;
        }
    }
}

std::string hint_of(const auto& result) {
    return result ? "" : result.error().hint_text();
}

TEST(core, units_duration_parse) {
    EXPECT_EQ(parse_duration("1s").value(), 1s);
    EXPECT_EQ(parse_duration("500ms").value(), 500ms);
    EXPECT_EQ(parse_duration("2m").value(), 2min);
    EXPECT_EQ(parse_duration("1h30m").value(), 90min);
    EXPECT_EQ(parse_duration("0.1s").value(), 100ms);
    EXPECT_EQ(parse_duration(" 1d 12h ").value(), 36h);
    EXPECT_EQ(parse_duration("1.5 us").value(), 1500ns);
    EXPECT_EQ(parse_duration("0s").value(), 0s);
    EXPECT_EQ(parse_duration("0.4ns").value(), 0ns);
    EXPECT_EQ(parse_duration("0.5ns").value(), 1ns);
}

TEST(core, units_duration_errors_name_the_units) {
    for (const char* text :
         {"", " ", "s", "5", "1.s", ".5s", "-1s", "1x", "1S", "1h30", "1e3s", "1,5s", "1s1", "1h-3m"}) {
        auto duration = parse_duration(text);
        ASSERT_FALSE(duration) << text;
        EXPECT_EQ(duration.error().kind(), ErrorKind::kBadInput);
        EXPECT_THAT(duration.error().hint_text(), HasSubstr("d h m s ms us ns")) << text;
    }
    EXPECT_EQ(parse_duration("5").error().message(), "duration \"5\" has no unit");
    EXPECT_EQ(parse_duration("5 sec").error().message(), "duration \"5 sec\": unknown unit \"sec\"");
    EXPECT_EQ(parse_duration("30m1h").error().message(), "duration \"30m1h\": h after m");
    EXPECT_FALSE(parse_duration("1s1s"));
    EXPECT_THAT(parse_duration("200000d").error().message(), HasSubstr("292 years"));
    EXPECT_THAT(parse_duration("106751d 23h 59m").error().message(), HasSubstr("292 years"));
    EXPECT_FALSE(parse_duration("123456789012345678901s"));
}

TEST(core, units_duration_text) {
    EXPECT_EQ(to_text(Duration(0)), "0s");
    EXPECT_EQ(to_text(90min), "1h30m");
    EXPECT_EQ(to_text(100ms), "100ms");
    EXPECT_EQ(to_text(1500ms), "1.5s");
    EXPECT_EQ(to_text(60s + 500ms), "1m0.5s");
    EXPECT_EQ(to_text(24h + 1ns), "1d0.000000001s");
    EXPECT_EQ(to_text(-90min), "-1h30m");
    EXPECT_EQ(to_text(Duration::min()), "-106751d23h47m16.854775808s");
}

TEST(core, units_duration_round_trip) {
    for_many_values(std::numeric_limits<int64_t>::max(), [](uint64_t value) {
        Duration duration(static_cast<int64_t>(value));
        EXPECT_EQ(parse_duration(to_text(duration)).value(), duration) << to_text(duration);
    });
}

TEST(core, units_duration_for_people) {
    EXPECT_EQ(format_duration(0s), "0 s");
    EXPECT_EQ(format_duration(1234567ns), "1.23 ms");
    EXPECT_EQ(format_duration(45600us), "45.6 ms");
    EXPECT_EQ(format_duration(999'600us), "1.00 s");
    EXPECT_EQ(format_duration(59'940ms), "59.9 s");
    EXPECT_EQ(format_duration(59'999ms), "1m00s");
    EXPECT_EQ(format_duration(65s), "1m05s");
    EXPECT_EQ(format_duration(3599'600ms), "1h00m");
    EXPECT_EQ(format_duration(200min), "3h20m");
    EXPECT_EQ(format_duration(52h), "2d04h");
    EXPECT_EQ(format_duration(-65s), "-1m05s");
    EXPECT_EQ(format_duration(Duration::min()), "-106752d00h");
}

TEST(core, units_size_keeps_decimal_and_binary_apart) {
    EXPECT_EQ(parse_size("10GB").value().bytes, 10'000'000'000U);
    EXPECT_EQ(parse_size("10GiB").value().bytes, 10'737'418'240U);
    EXPECT_EQ(parse_size("1.5 kB").value().bytes, 1500U);
    EXPECT_EQ(parse_size("1KB").value().bytes, 1000U);
    EXPECT_EQ(parse_size("64 KiB").value().bytes, 65536U);
    EXPECT_EQ(parse_size("0B").value().bytes, 0U);
    EXPECT_EQ(parse_size("16EiB").has_value(), false);
    EXPECT_EQ(parse_size("15EiB").value().bytes, uint64_t{15} << 60);
}

TEST(core, units_size_errors_name_the_units) {
    for (const char* text : {"", "10", "10G", "10gb", "GB", "-1B", "1 GB/s", "10 Gbit", "1.5.2GB"}) {
        auto size = parse_size(text);
        ASSERT_FALSE(size) << text;
        EXPECT_EQ(size.error().kind(), ErrorKind::kBadInput);
        EXPECT_THAT(size.error().hint_text(), HasSubstr("KiB MiB GiB")) << text;
    }
    EXPECT_EQ(parse_size("10G").error().message(), "size \"10G\": unknown unit \"G\"");
}

TEST(core, units_size_text_and_round_trip) {
    EXPECT_EQ(to_text(ByteSize{0}), "0B");
    EXPECT_EQ(to_text(ByteSize{1'500'000'000}), "1500MB");
    EXPECT_EQ(to_text(ByteSize{65536}), "64KiB");
    EXPECT_EQ(to_text(ByteSize{1023}), "1023B");
    for_many_values(std::numeric_limits<uint64_t>::max(), [](uint64_t value) {
        EXPECT_EQ(parse_size(to_text(ByteSize{value})).value().bytes, value) << to_text(ByteSize{value});
    });
}

TEST(core, units_size_for_people) {
    EXPECT_EQ(format_decimal({1'500'000'000}), "1.50 GB");
    EXPECT_EQ(format_binary({1'500'000'000}), "1.40 GiB");
    EXPECT_EQ(format_decimal({512}), "512 B");
    EXPECT_EQ(format_decimal({999}), "999 B");
    EXPECT_EQ(format_decimal({999'700}), "1.00 MB");
    EXPECT_EQ(format_decimal({999'400}), "999 kB");
    EXPECT_EQ(format_decimal({12'340}), "12.3 kB");
    EXPECT_EQ(format_decimal({9'999}), "10.0 kB");
    EXPECT_EQ(format_decimal({0}), "0 B");
    EXPECT_EQ(format_binary({uint64_t{1} << 30}), "1.00 GiB");
    EXPECT_EQ(format_binary({1020}), "1.00 KiB");
    EXPECT_EQ(format_decimal({std::numeric_limits<uint64_t>::max()}), "18.4 EB");
}

TEST(core, units_bandwidth) {
    EXPECT_EQ(parse_bandwidth("10 Gbit/s").value().bits_per_second, 10'000'000'000U);
    EXPECT_EQ(parse_bandwidth("10 GB/s").value().bits_per_second, 80'000'000'000U);
    EXPECT_EQ(parse_bandwidth("10GiB/s").value().bytes_per_second(), 10'737'418'240.0);
    for (const char* text : {"10 Gb/s", "10Gbps", "10", "10 GB", "", "100 EB/s", "1GB/m"}) {
        auto bandwidth = parse_bandwidth(text);
        ASSERT_FALSE(bandwidth) << text;
        if (std::string_view(text) != "100 EB/s") {
            EXPECT_THAT(hint_of(bandwidth), HasSubstr("Gbit/s"));
        }
    }
    EXPECT_EQ(to_text(Bandwidth{100'000'000'000}), "100Gbit/s");
    EXPECT_EQ(to_text(Bandwidth{80'000'000'000}), "10GB/s");
    for_many_values(std::numeric_limits<uint64_t>::max(), [](uint64_t value) {
        EXPECT_EQ(parse_bandwidth(to_text(Bandwidth{value})).value().bits_per_second, value)
            << to_text(Bandwidth{value});
    });
    EXPECT_EQ(format_bytes_per_second(1.5e9), "1.50 GB/s");
    EXPECT_EQ(format_bits_per_second(12e9), "12.0 Gbit/s");
    EXPECT_EQ(format_bytes_per_second(0.25), "0.25 B/s");
    EXPECT_EQ(format_bytes_per_second(std::numeric_limits<double>::quiet_NaN()), "unknown/s");
}

}  // namespace
}  // namespace belay::core
