#include "observe/hardware/sensor_text.h"

#include "observe/hardware/sensor_file.h"
#include "observe/hardware/testing.h"

#include <array>
#include <cerrno>
#include <sys/stat.h>

namespace belay::observe::hardware {
namespace {

using namespace testing;

TEST(observe_hardware, a_number_stands_alone_on_its_line_and_may_be_negative) {
    EXPECT_EQ(parse_sensor_number("0\n"), 0);
    EXPECT_EQ(parse_sensor_number("-12000\n"), -12000);
    EXPECT_EQ(parse_sensor_number(" 42 \n"), 42);
    EXPECT_EQ(parse_sensor_number("9223372036854775807\n"), INT64_MAX);
    for (const char* wrong :
         {"", "\n", "12", "12 W\n", "1.5\n", "0x10\n", "+1\n", "9223372036854775808\n", "-\n", "nan\n"})
        EXPECT_EQ(parse_sensor_number(wrong), std::nullopt) << wrong;
}

TEST(observe_hardware, a_name_is_valid_text_and_not_endless) {
    EXPECT_EQ(parse_name("  Package id 0 \n"), "Package id 0");
    EXPECT_EQ(parse_name("SAMSUNG MZQL23T8HCLS-00A07              \n"), "SAMSUNG MZQL23T8HCLS-00A07");
    EXPECT_EQ(parse_name("cut"), "");
    EXPECT_EQ(parse_name(""), "");
    EXPECT_EQ(parse_name("a\xff\n"), "a\xEF\xBF\xBD");
    EXPECT_EQ(parse_name(std::string(1000, 'x') + "\n").size(), 128U);
}

TEST(observe_hardware, a_cray_counter_has_a_unit_and_newer_ones_a_time) {
    EXPECT_EQ(parse_pm_counter("598732067 J\n"), (PmCounter{598732067, PmUnit::kJoules}));
    EXPECT_EQ(parse_pm_counter("284 W 1700000000000000 us\n"), (PmCounter{284, PmUnit::kWatts}));
    EXPECT_EQ(parse_pm_counter("-3 C 1700000000000000 us\n"), (PmCounter{-3, PmUnit::kCelsius}));
    for (const char* wrong : {"", "123 J", "123\n", "J\n", "-1 J\n", "-1 W\n", "1 V\n", "1 J now us\n",
                              "1 J 17 s\n", "99999999999999999999 J\n", "1.5 W\n"})
        EXPECT_EQ(parse_pm_counter(wrong), std::nullopt) << wrong;
    EXPECT_EQ(parse_pm_number("1699999999000000\n"), 1699999999000000);
    EXPECT_EQ(parse_pm_number("10 1700000000000000 us\n"), 10);
    EXPECT_EQ(parse_pm_number("-1\n"), std::nullopt);
}

TEST(observe_hardware, a_number_behind_a_name) {
    EXPECT_EQ(number_behind("node36", "node"), 36);
    for (const char* wrong : {"node", "nodes", "node1x", "node-1", "has_cpu", ""})
        EXPECT_EQ(number_behind(wrong, "node"), std::nullopt) << wrong;
}

TEST(observe_hardware, a_sensor_file_is_read_again_and_comes_back) {
    FakeHardware node;
    SensorFile file(node.root.sys() / "value");
    EXPECT_EQ(file.number(), std::nullopt);
    EXPECT_EQ(file.error(), ENOENT);
    node.write("sys/value", "7\n");
    EXPECT_EQ(file.number(), 7);
    EXPECT_EQ(file.error(), 0);
    node.write("sys/value", "8\n");
    EXPECT_EQ(file.number(), 8);
    std::array<char, 1> small;
    EXPECT_EQ(file.read(small), "8") << "as far as it fits";
}

TEST(observe_hardware, a_sensor_file_that_is_none_holds_nobody_up) {
    FakeHardware node;
    fs::create_directories(node.root.sys());
    ASSERT_EQ(mkfifo((node.root.sys() / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(SensorFile(node.root.sys() / "pipe").number(), std::nullopt);
    EXPECT_EQ(SensorFile(node.root.sys()).number(), std::nullopt);
    EXPECT_EQ(name_in(node.root.sys() / "nothing"), "");
    EXPECT_TRUE(names_in(node.root.sys() / "nothing").empty());
}

}  // namespace
}  // namespace belay::observe::hardware
