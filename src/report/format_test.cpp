#include "report/format.h"

#include "report/model.h"

#include <vector>

#include <gtest/gtest.h>

namespace belay::report {
namespace {

TEST(report, quantities_read_well) {
    EXPECT_EQ(format_quantity(kMissing, "B"), "–");
    EXPECT_EQ(format_quantity(0, "share"), "0 %");
    EXPECT_EQ(format_quantity(0.043, "share"), "4.3 %");
    EXPECT_EQ(format_quantity(0.867, "share"), "87 %");
    EXPECT_EQ(format_quantity(3.25 * (1 << 30), "B"), "3.25 GiB");
    EXPECT_EQ(format_quantity(9.28e6, "B/s"), "9.28 MB/s");
    EXPECT_EQ(format_quantity(112.3, "samples/s"), "112 samples/s");
    EXPECT_EQ(format_quantity(0.1263, ""), "0.126");
    EXPECT_EQ(format_quantity(0.13, ""), "0.13");
    EXPECT_EQ(format_quantity(178, "s"), "2 min 58 s");
}

TEST(report, durations_have_two_parts) {
    EXPECT_EQ(format_duration(0.5), "0.5 s");
    EXPECT_EQ(format_duration(42.4), "42 s");
    EXPECT_EQ(format_duration(60), "1 min");
    EXPECT_EQ(format_duration(3725), "1 h 2 min");
    EXPECT_EQ(format_duration(86400 * 3 + 7200), "3 d 2 h");
    EXPECT_EQ(format_duration(kMissing), "–");
}

TEST(report, small_numbers_have_neither_long_exponents_nor_a_sign_of_zero) {
    EXPECT_EQ(format_duration(-9e-08), "0 s");
    EXPECT_EQ(format_duration(-0.0), "0 s");
    EXPECT_EQ(format_duration(2.5e-4), "0.25 ms");
    EXPECT_EQ(format_duration(0.012), "12 ms");
    EXPECT_EQ(format_duration(3e-6), "3 µs");
    EXPECT_EQ(format_duration(-0.5), "-0.5 s");
    EXPECT_EQ(format_duration(-90), "-1 min 30 s");
    EXPECT_EQ(format_quantity(-9e-08, "s"), "0 s");
    EXPECT_EQ(format_quantity(-0.0, ""), "0");
    EXPECT_EQ(format_quantity(-1e-9, "share"), "0.0 %");
    EXPECT_EQ(format_quantity(-0.02, "share"), "-2.0 %");
    EXPECT_EQ(format_quantity(1e-5, ""), "1e-5");
    EXPECT_EQ(format_quantity(0.00025, ""), "0.00025");
    EXPECT_EQ(format_quantity(3e-12, "W"), "3e-12 W");
}

TEST(report, only_complete_coverage_says_100) {
    EXPECT_EQ(format_coverage(1), "100.0 %");
    EXPECT_EQ(format_coverage(0.99999), "99.9 %");
    EXPECT_EQ(format_coverage(0.983), "98.3 %");
    EXPECT_EQ(format_coverage(kMissing), "–");
}

TEST(report, elapsed_time_and_counts) {
    EXPECT_EQ(format_elapsed(0), "0:00");
    EXPECT_EQ(format_elapsed(178.9), "2:58");
    EXPECT_EQ(format_elapsed(3723), "1:02:03");
    EXPECT_EQ(format_count(1, "node"), "1 node");
    EXPECT_EQ(format_count(2, "node"), "2 nodes");
    EXPECT_EQ(format_count(2, "entry", "entries"), "2 entries");
}

TEST(report, sparkline_shows_gaps_as_blanks) {
    std::vector<double> values = {0, 0.5, kMissing, 1};
    EXPECT_EQ(sparkline(values, 4, 1), "▁▅ █");
    EXPECT_EQ(sparkline(values, 2, 1), "▃█") << "means of what is there";
    EXPECT_EQ(sparkline(values, 4, 2), "▁▃ ▅");
    std::vector<double> zeros = {0, 0};
    EXPECT_EQ(sparkline(zeros, 8, 0), "▁▁");
    EXPECT_EQ(sparkline({}, 8, 1), "");
}

}  // namespace
}  // namespace belay::report
