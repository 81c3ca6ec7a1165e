#include "observe/hardware/smart_log.h"

#include "observe/hardware/smart_page.h"

#include <array>
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

namespace belay::observe::hardware {
namespace {

using testing::SmartPage;

TEST(observe_hardware, a_smart_log_is_right_to_the_last_digit) {
    const std::string page = SmartPage()
                                 .put(0, 1, 0x09)
                                 .put(1, 2, 318)
                                 .put(3, 1, 98)
                                 .put(4, 1, 10)
                                 .put(5, 1, 103)
                                 .put(32, 8, 7'654'321)
                                 .put(48, 8, 1)
                                 .put(64, 8, 111)
                                 .put(80, 8, 222)
                                 .put(96, 8, 61)
                                 .put(112, 8, 37)
                                 .put(128, 8, 20'000)
                                 .put(144, 8, 12)
                                 .put(160, 8, 3)
                                 .put(176, 8, 44)
                                 .put(192, 4, 5)
                                 .put(196, 4, 2)
                                 .put(224, 4, 0xFFFF'FFFF)
                                 .put(228, 4, 0xFFFF'FFFF)
                                 .bytes();
    const auto log = parse_smart_log(page);
    ASSERT_TRUE(log);
    EXPECT_EQ(log->critical_warning, 9);
    EXPECT_EQ(log->celsius, 44.85);
    EXPECT_EQ(log->spare_ratio, 0.98);
    EXPECT_EQ(log->spare_threshold_ratio, 0.1);
    EXPECT_EQ(log->used_ratio, 1.03);
    EXPECT_EQ(log->read_bytes, 7'654'321 * INT64_C(512'000));
    EXPECT_EQ(log->written_bytes, 512'000);
    EXPECT_EQ(log->reads, 111);
    EXPECT_EQ(log->writes, 222);
    EXPECT_EQ(log->busy_seconds, 3660);
    EXPECT_EQ(log->power_cycles, 37);
    EXPECT_EQ(log->power_on_seconds, 72'000'000);
    EXPECT_EQ(log->unsafe_shutdowns, 12);
    EXPECT_EQ(log->media_errors, 3);
    EXPECT_EQ(log->error_log_entries, 44);
    EXPECT_EQ(log->hot_seconds, 300);
    EXPECT_EQ(log->critically_hot_seconds, 120);
    EXPECT_EQ(log->throttled_seconds, INT64_C(8'589'934'590));
}

TEST(observe_hardware, what_a_disk_does_not_report_is_nothing_and_not_0) {
    const auto log = parse_smart_log(SmartPage().put(3, 1, 255).put(4, 1, 101).put(112, 8, 1).bytes());
    ASSERT_TRUE(log);
    EXPECT_FALSE(log->celsius);
    EXPECT_FALSE(log->spare_ratio);
    EXPECT_FALSE(log->spare_threshold_ratio);
    EXPECT_FALSE(log->read_bytes);
    EXPECT_EQ(log->reads, 0);
    EXPECT_EQ(log->media_errors, 0);
    EXPECT_EQ(parse_smart_log(SmartPage().put(1, 2, 270).bytes())->celsius, -3.15);
}

TEST(observe_hardware, counters_beyond_63_bits_are_nothing) {
    const auto log = parse_smart_log(SmartPage()
                                         .put(64, 8, INT64_MAX)
                                         .put(80, 8, uint64_t{INT64_MAX} + 1)
                                         .put(88 + 16, 1, 1)  // the upper half of the busy time
                                         .put(32, 8, INT64_MAX / 512'000 + 1)
                                         .bytes());
    ASSERT_TRUE(log);
    EXPECT_EQ(log->reads, INT64_MAX);
    EXPECT_FALSE(log->writes);
    EXPECT_FALSE(log->busy_seconds);
    EXPECT_FALSE(log->read_bytes);
}

TEST(observe_hardware, a_page_that_says_nothing_is_none) {
    EXPECT_FALSE(parse_smart_log(std::string(512, '\0'))) << "a disk of a cloud";
    EXPECT_FALSE(parse_smart_log(std::string(512, '\xFF'))) << "a device that is gone";
    const std::string page = SmartPage().put(1, 2, 300).bytes();
    for (const size_t size : {size_t{0}, size_t{1}, size_t{511}})
        EXPECT_FALSE(parse_smart_log(std::string_view(page).substr(0, size))) << size;
    EXPECT_FALSE(parse_smart_log(page + "x"));
}

TEST(observe_hardware, what_is_no_controller_is_an_error_and_not_a_page) {
    std::array<char, kSmartLogBytes> page{};
    EXPECT_EQ(read_smart_log_page("/nonexistent/nvme0", page), ENOENT);
    EXPECT_EQ(read_smart_log_page("/dev/null", page), ENOTTY);
}

}  // namespace
}  // namespace belay::observe::hardware
