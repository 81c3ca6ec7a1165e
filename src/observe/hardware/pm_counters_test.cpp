#include "observe/hardware/pm_counters.h"

#include "observe/hardware/power.h"
#include "observe/hardware/testing.h"
#include "schema/tables/power.h"

#include <optional>
#include <utility>

#include <gmock/gmock.h>

namespace belay::observe::hardware {
namespace {

using namespace testing;

void write_pm(const FakeHardware& node, const std::string& name, const std::string& text) {
    node.write("sys/cray/pm_counters/" + name, text + "\n");
}

// Of a node of four GH200 (HPE Cray EX254n), counters of version 3; here with two.
void write_gh200_node(const FakeHardware& node, int scan) {
    const std::string time = " 17000000000" + std::to_string(scan) + " us";
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"accel0_energy", "111222333 J"},
                                                          {"accel0_power", "402 W"},
                                                          {"accel0_power_cap", "0 W"},
                                                          {"accel1_energy", "111000333 J"},
                                                          {"accel1_power", "399 W"},
                                                          {"cpu0_energy", "22333444 J"},
                                                          {"cpu0_power", "97 W"},
                                                          {"cpu0_temp", "51 C"},
                                                          {"cpu_energy", "44666888 J"},
                                                          {"cpu_power", "190 W"},
                                                          {"energy", "598732067 J"},
                                                          {"power", "1404 W"},
                                                          {"power_cap", "0 W"}})
        write_pm(node, name, value + time);
    write_pm(node, "freshness", std::to_string(scan));
    write_pm(node, "generation", "3");
    write_pm(node, "raw_scan_hz", "10");
    write_pm(node, "startup", "1699999999000000");
    write_pm(node, "version", "3");
}

TEST(observe_hardware, pm_counters_are_known_by_their_names) {
    EXPECT_EQ(parse_pm_file_name("energy"), (PmFileName{"node", PmUnit::kJoules}));
    EXPECT_EQ(parse_pm_file_name("power"), (PmFileName{"node", PmUnit::kWatts}));
    EXPECT_EQ(parse_pm_file_name("cpu0_temp"), (PmFileName{"cpu0", PmUnit::kCelsius}));
    EXPECT_EQ(parse_pm_file_name("memory_power"), (PmFileName{"memory", PmUnit::kWatts}));
    EXPECT_EQ(parse_pm_file_name("accel3_energy"), (PmFileName{"accel3", PmUnit::kJoules}));
    for (const char* other : {"accel0_power_cap", "power_cap", "freshness", "generation", "startup",
                              "version", "raw_scan_hz", "_power", "superpower", ""})
        EXPECT_EQ(parse_pm_file_name(other), std::nullopt) << other;
}

TEST(observe_hardware, a_cray_node_has_a_row_for_each_domain) {
    FakeHardware node;
    write_gh200_node(node, 100);
    auto power = make_power_collector(node.options);
    const stream::Batch rows = node.sample(*power);
    EXPECT_TRUE(power->is_expected());
    ASSERT_EQ(rows.rows(), 5U);
    const size_t whole = row_where(rows, "domain", "node").value();
    EXPECT_EQ(text(rows, whole, "source"), "pm_counters");
    EXPECT_TRUE(is_null(rows, whole, "device"));
    EXPECT_EQ(real(rows, whole, "energy_joules_total"), 598732067.0);
    EXPECT_EQ(real(rows, whole, "power_watts"), 1404.0);
    EXPECT_TRUE(is_null(rows, whole, "temperature_celsius"));
    EXPECT_EQ(real(rows, row_where(rows, "domain", "accel1").value(), "power_watts"), 399.0);
    EXPECT_EQ(real(rows, row_where(rows, "domain", "cpu0").value(), "temperature_celsius"), 51.0);
    EXPECT_EQ(real(rows, row_where(rows, "domain", "cpu").value(), "energy_joules_total"), 44666888.0);
}

// XC systems, version 1: no times, and no counters of single sockets.
TEST(observe_hardware, counters_of_an_older_cray_have_no_times) {
    FakeHardware node;
    write_pm(node, "power", "85 W");
    write_pm(node, "energy", "598732067 J");
    write_pm(node, "memory_power", "6 W");
    write_pm(node, "memory_energy", "garbage");
    write_pm(node, "cpu_power", "33 J");  // the wrong unit
    write_pm(node, "freshness", "0");
    auto power = make_power_collector(node.options);
    const stream::Batch rows = node.sample(*power);
    ASSERT_EQ(rows.rows(), 2U);
    EXPECT_EQ(real(rows, row_where(rows, "domain", "node").value(), "power_watts"), 85.0);
    EXPECT_TRUE(is_null(rows, row_where(rows, "domain", "memory").value(), "energy_joules_total"));
}

TEST(observe_hardware, counters_that_started_anew_go_on) {
    FakeHardware node;
    write_gh200_node(node, 1);
    auto power = make_power_collector(node.options);
    auto joules = [&](int64_t second) {
        const stream::Batch rows = node.sample(*power, second);
        return real(rows, row_where(rows, "domain", "node").value(), "energy_joules_total");
    };
    EXPECT_EQ(joules(1), 598732067.0);
    write_pm(node, "freshness", "2");
    write_pm(node, "energy", "100 J 1 us");
    EXPECT_EQ(joules(2), std::nullopt) << "without a start it cannot be so";
    write_pm(node, "freshness", "3");
    write_pm(node, "startup", "1700000099000000");
    EXPECT_EQ(joules(3), 598732167.0);
    write_pm(node, "freshness", "4");
    write_pm(node, "energy", "350 J 1 us");
    EXPECT_EQ(joules(4), 598732417.0);
}

TEST(observe_hardware, counters_that_stand_still_are_told_once_and_have_no_rows) {
    FakeHardware node;
    write_gh200_node(node, 1);
    auto power = make_power_collector(node.options);
    EXPECT_EQ(node.sample(*power, 1).rows(), 5U);
    EXPECT_EQ(node.sample(*power, 2).rows(), 0U) << "ten scans a second should have been";
    EXPECT_EQ(node.sample(*power, 3).rows(), 0U);
    ASSERT_EQ(node.events.size(), 1U);
    EXPECT_EQ(node.events[0].subject, "power");
    EXPECT_THAT(node.events[0].message, ::testing::HasSubstr("stand still"));
    write_gh200_node(node, 2);
    EXPECT_EQ(node.sample(*power, 4).rows(), 5U);
    EXPECT_EQ(node.sample(*power, 3).rows(), 5U) << "the clock went back: who knows";
}

TEST(observe_hardware, counters_that_are_renewed_seldom_are_not_taken_for_still) {
    FakeHardware node;
    write_gh200_node(node, 1);
    write_pm(node, "raw_scan_hz", "1");
    auto power = make_power_collector(node.options);
    EXPECT_EQ(node.sample(*power, 1).rows(), 5U);
    EXPECT_EQ(node.sample(*power, 3).rows(), 5U);
    EXPECT_EQ(node.sample(*power, 4).rows(), 0U);
}

TEST(observe_hardware, counters_are_read_again_until_all_are_of_one_moment) {
    int64_t scan = 0;
    int readings = 0;
    std::optional<int64_t> freshness;
    auto disturbed_until = [&](int reading) {
        scan = readings = 0;
        return read_one_moment([&] { return std::optional(scan); },
                               [&] { scan += ++readings < reading ? 1 : 0; }, freshness);
    };
    EXPECT_TRUE(disturbed_until(1));
    EXPECT_EQ(readings, 1);
    EXPECT_TRUE(disturbed_until(3));
    EXPECT_EQ(readings, 3);
    EXPECT_EQ(freshness, 2);
    EXPECT_FALSE(disturbed_until(4));
    EXPECT_EQ(readings, 3);
}

TEST(observe_hardware, counters_without_a_freshness_are_taken_as_they_are) {
    FakeHardware node;
    write_gh200_node(node, 1);
    node.root.remove("sys/cray/pm_counters/freshness");
    auto power = make_power_collector(node.options);
    EXPECT_EQ(node.sample(*power, 1).rows(), 5U);
    EXPECT_EQ(node.sample(*power, 9).rows(), 5U);
}

}  // namespace
}  // namespace belay::observe::hardware
