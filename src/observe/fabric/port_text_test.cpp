#include "observe/fabric/port_text.h"

#include <string>

#include <gtest/gtest.h>

namespace belay::observe::fabric {
namespace {

TEST(observe_fabric, a_counter_is_one_whole_number) {
    EXPECT_EQ(parse_counter("0\n"), 0);
    EXPECT_EQ(parse_counter("4294967295\n"), 4294967295);
    EXPECT_EQ(parse_counter("9223372036854775807\n"), INT64_MAX);
    for (std::string_view wrong : {"", "\n", "12", "-1\n", "-0\n", "+1\n", "1 2\n", "0x10\n", " 1\n", "1.5\n",
                                   "9223372036854775808\n", "18446744073709551615\n", "N/A (no PMA)\n"})
        EXPECT_EQ(parse_counter(wrong), std::nullopt) << wrong;
    // A FUSE file whose handler knows no offset: what comes behind the first line is not looked at.
    EXPECT_EQ(parse_counter(std::string_view("7\n\0\0\0", 5)), 7);
}

TEST(observe_fabric, telemetry_is_a_count_at_a_time) {
    EXPECT_EQ(parse_telemetry("103060429480@1743569213.088677609\n"), 103060429480);
    EXPECT_EQ(parse_telemetry("72057594037927935@0.000000000\n"), (int64_t{1} << 56) - 1);
    EXPECT_EQ(parse_telemetry("10@12345\n"), 10);
    EXPECT_EQ(parse_telemetry("10\n"), 10);
    for (std::string_view wrong :
         {"", "\n", "@1.0\n", "10@\n", "10@.5\n", "10@x.5\n", "10@1.x\n", "10@1.0000000000\n", "10@-1.5\n",
          "10@1.5.5\n", "10@1@1\n", "-1@1.5\n", "10@1743569213.088677609", "99999999999999999999@1.5\n"})
        EXPECT_EQ(parse_telemetry(wrong), std::nullopt) << wrong;
}

TEST(observe_fabric, telemetry_that_is_cut_is_nothing) {
    const std::string text = "103060429480@1743569213.088677609\n";
    for (size_t length = 0; length < text.size(); ++length)
        EXPECT_EQ(parse_telemetry(std::string_view(text).substr(0, length)), std::nullopt) << length;
}

TEST(observe_fabric, a_state_is_the_name_behind_its_number) {
    EXPECT_EQ(parse_numbered_name("4: ACTIVE\n"), "ACTIVE");
    EXPECT_EQ(parse_numbered_name("1: DOWN\n"), "DOWN");
    EXPECT_EQ(parse_numbered_name("5: ACTIVE_DEFER\n"), "ACTIVE_DEFER");
    EXPECT_EQ(parse_numbered_name("7: Phy Test\n"), "Phy Test");
    for (std::string_view wrong : {"", "\n", "ACTIVE\n", "x: ACTIVE\n", ": ACTIVE\n", "-1: ACTIVE\n",
                                   "4: ACTIVE", "4: A\x01\n", "4:\n"})
        EXPECT_EQ(parse_numbered_name(wrong), "") << wrong;
}

TEST(observe_fabric, a_rate_becomes_bits_per_second) {
    EXPECT_EQ(parse_rate("200 Gb/sec (4X HDR)\n"), 200'000'000'000);
    EXPECT_EQ(parse_rate("2.5 Gb/sec (1X SDR)\n"), 2'500'000'000);
    EXPECT_EQ(parse_rate("10 Gb/sec (4X)\n"), 10'000'000'000);  // before 3.0, which names no generation
    EXPECT_EQ(parse_rate("800 Gb/sec (4X XDR)\n"), 800'000'000'000);
    for (std::string_view wrong : {"", "\n", "200 Gb/sec (4X HDR)", "200\n", "200 Mb/sec\n", "-1 Gb/sec\n",
                                   "0 Gb/sec (0X SDR)\n", "x Gb/sec\n", "2.x Gb/sec\n", "2.55 Gb/sec\n",
                                   "9223372036854775807 Gb/sec\n", "9223372036.9 Gb/sec\n"})
        EXPECT_EQ(parse_rate(wrong), std::nullopt) << wrong;
}

TEST(observe_fabric, a_name_is_a_printable_line) {
    EXPECT_EQ(parse_name("InfiniBand\n"), "InfiniBand");
    EXPECT_EQ(parse_name(" Ethernet \n"), "Ethernet");
    EXPECT_EQ(parse_name("InfiniBand"), "");
    EXPECT_EQ(parse_name("a\xff\n"), "");
    EXPECT_EQ(parse_name(std::string(64, 'a') + "\n"), std::string(64, 'a'));
    EXPECT_EQ(parse_name(std::string(65, 'a') + "\n"), "");
}

TEST(observe_fabric, the_state_of_a_slingshot_link_has_no_newline) {
    EXPECT_EQ(parse_link_word("up"), "up");
    EXPECT_EQ(parse_link_word("starting\n"), "starting");
    for (std::string_view wrong : {"", "\n", "NOT IMPLEMENTED!!\n", "up down", "u\tp", "4: ACTIVE"})
        EXPECT_EQ(parse_link_word(wrong), "") << wrong;
}

}  // namespace
}  // namespace belay::observe::fabric
