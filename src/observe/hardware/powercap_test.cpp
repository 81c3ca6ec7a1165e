#include "observe/hardware/powercap.h"

#include "observe/hardware/energy_total.h"
#include "observe/hardware/power.h"
#include "observe/hardware/testing.h"
#include "schema/tables/power.h"

#include <cerrno>
#include <system_error>

#include <gmock/gmock.h>

namespace belay::observe::hardware {
namespace {

using namespace testing;

// As drivers/powercap/intel_rapl_common.c names them.
void write_zone(const FakeHardware& node, const std::string& zone, const std::string& name,
                const std::string& energy, const std::string& range = "262143328850") {
    const std::string directory = "sys/class/powercap/" + zone + "/";
    node.write(directory + "name", name + "\n");
    node.write(directory + "energy_uj", energy + "\n");
    if (!range.empty()) node.write(directory + "max_energy_range_uj", range + "\n");
}

void set_energy(const FakeHardware& node, const std::string& zone, const std::string& energy) {
    node.write("sys/class/powercap/" + zone + "/energy_uj", energy + "\n");
}

TEST(observe_hardware, a_zone_says_who_measures_and_what_it_is_part_of) {
    const auto top = parse_zone_name("intel-rapl:0");
    ASSERT_TRUE(top);
    EXPECT_EQ(top->source, "rapl");
    EXPECT_EQ(top->parent, "");
    EXPECT_EQ(parse_zone_name("intel-rapl:1:2")->parent, "intel-rapl:1");
    EXPECT_EQ(parse_zone_name("intel-rapl-mmio:0")->source, "rapl_mmio");
    EXPECT_EQ(parse_zone_name("intel-rapl-tpmi:0")->source, "rapl_tpmi");
    EXPECT_EQ(parse_zone_name("amd-rapl:0")->source, "amd-rapl");
    for (const char* wrong : {"intel-rapl", "dtpm", "", ":0", "intel-rapl:"})
        EXPECT_FALSE(parse_zone_name(wrong)) << wrong;
}

TEST(observe_hardware, energy_that_wraps_goes_on) {
    EnergyTotal total;
    EXPECT_EQ(total.unwrapped(900, 1000), 900);
    EXPECT_EQ(total.unwrapped(950, 1000), 950);
    EXPECT_EQ(total.unwrapped(20, 1000), 1020);
    EXPECT_EQ(total.unwrapped(20, 1000), 1020);
    EXPECT_EQ(total.unwrapped(10, 1000), 2010);
}

TEST(observe_hardware, energy_without_a_range_begins_anew) {
    EnergyTotal total;
    EXPECT_EQ(total.unwrapped(900, std::nullopt), 900);
    EXPECT_EQ(total.unwrapped(20, std::nullopt), 920);
    EnergyTotal beyond;
    EXPECT_EQ(beyond.unwrapped(900, 500), 900);
    EXPECT_EQ(beyond.unwrapped(20, 500), 920) << "it was beyond its range";
}

TEST(observe_hardware, energy_beyond_63_bits_is_not_known) {
    EnergyTotal total;
    EXPECT_EQ(total.unwrapped(INT64_MAX, INT64_MAX), INT64_MAX);
    EXPECT_EQ(total.unwrapped(5, INT64_MAX), std::nullopt);
    EXPECT_EQ(total.unwrapped(4, INT64_MAX), std::nullopt);
}

TEST(observe_hardware, energy_that_says_when_it_begins_anew_is_believed) {
    EnergyTotal total;
    EXPECT_EQ(total.steady(100), 100);
    EXPECT_EQ(total.steady(0), std::nullopt);
    EXPECT_EQ(total.steady(110), 110);
    total.begin_anew();
    EXPECT_EQ(total.steady(3), 113);
    total.begin_anew();
    EXPECT_EQ(total.steady(500), 613) << "also where it is higher than before";
}

TEST(observe_hardware, power_has_a_row_for_each_zone_of_rapl) {
    FakeHardware node;
    node.write("sys/class/powercap/intel-rapl/enabled", "1\n");
    write_zone(node, "intel-rapl:0", "package-0", "123456789012");
    write_zone(node, "intel-rapl:0:0", "dram", "1", "65712999613");
    write_zone(node, "intel-rapl:1", "package-1-die-0", "0");
    write_zone(node, "intel-rapl:2", "psys-1", "2500000");
    write_zone(node, "intel-rapl-mmio:0", "package-0", "7000000");
    node.write("sys/class/powercap/dtpm:0/name", "pkg\n");
    node.write("sys/class/powercap/dtpm:0/power_uw", "1\n");
    auto power = make_power_collector(node.options);
    EXPECT_FALSE(power->is_expected());
    const stream::Batch rows = node.sample(*power);
    EXPECT_TRUE(power->is_expected());
    ASSERT_EQ(rows.rows(), 5U);
    const size_t package = row_where(rows, "device", "intel-rapl:0").value();
    EXPECT_EQ(text(rows, package, "source"), "rapl");
    EXPECT_EQ(text(rows, package, "domain"), "package-0");
    EXPECT_EQ(real(rows, package, "energy_joules_total"), 123456.789012);
    EXPECT_TRUE(is_null(rows, package, "power_watts"));
    EXPECT_TRUE(is_null(rows, package, "temperature_celsius"));
    const size_t dram = row_where(rows, "device", "intel-rapl:0:0").value();
    EXPECT_EQ(text(rows, dram, "domain"), "package-0/dram");
    EXPECT_EQ(real(rows, dram, "energy_joules_total"), 0.000001);
    EXPECT_EQ(real(rows, row_where(rows, "domain", "package-1-die-0").value(), "energy_joules_total"), 0.0);
    EXPECT_EQ(real(rows, row_where(rows, "domain", "psys-1").value(), "energy_joules_total"), 2.5);
    EXPECT_EQ(text(rows, row_where(rows, "device", "intel-rapl-mmio:0").value(), "source"), "rapl_mmio");
    EXPECT_TRUE(node.events.empty());
}

TEST(observe_hardware, rapl_goes_on_where_it_wraps_and_where_zones_are_looked_for_again) {
    FakeHardware node;
    write_zone(node, "intel-rapl:0", "package-0", "262143000000");
    auto power = make_power_collector(node.options);
    EXPECT_EQ(real(node.sample(*power, 1), 0, "energy_joules_total"), 262143.0);
    set_energy(node, "intel-rapl:0", "671150");
    EXPECT_EQ(real(node.sample(*power, 2), 0, "energy_joules_total"), 262144.0);
    write_zone(node, "intel-rapl:1", "package-1", "5000000");
    const stream::Batch rows = node.sample(*power, 3);
    ASSERT_EQ(rows.rows(), 2U);
    EXPECT_EQ(real(rows, 0, "energy_joules_total"), 262144.0);
    EXPECT_EQ(real(rows, 1, "energy_joules_total"), 5.0);
}

TEST(observe_hardware, rapl_that_is_no_number_or_vanishes_has_no_row) {
    FakeHardware node;
    node.options.look_every = 100;
    write_zone(node, "intel-rapl:0", "package-0", "1000000");
    write_zone(node, "intel-rapl:1", "package-1", "-5");
    write_zone(node, "intel-rapl:2", "package-2", "garbage");
    write_zone(node, "intel-rapl:3", "package-3", "18446744073709551615");
    auto power = make_power_collector(node.options);
    EXPECT_EQ(node.sample(*power, 1).rows(), 1U);
    node.root.remove("sys/class/powercap");
    // The file that is open stays as it was; a kernel would answer ENODEV.
    EXPECT_LE(node.sample(*power, 2).rows(), 1U);
    FakeHardware nothing;
    auto none = make_power_collector(nothing.options);
    EXPECT_EQ(nothing.sample(*none).rows(), 0U);
    EXPECT_FALSE(none->is_expected());
}

TEST(observe_hardware, very_many_zones_are_not_all_taken) {
    FakeHardware node;
    for (int i = 0; i < 300; ++i) write_zone(node, "intel-rapl:" + std::to_string(i), "package-0", "1");
    auto power = make_power_collector(node.options);
    EXPECT_EQ(node.sample(*power).rows(), 128U);
}

TEST(observe_hardware, that_only_root_may_read_rapl_is_told_once) {
    FakeHardware node;
    write_zone(node, "intel-rapl:0", "package-0", "1");
    write_zone(node, "intel-rapl:1", "package-1", "1");
    node.write("sys/class/hwmon/hwmon0/name", "k10temp\n");
    node.write("sys/class/hwmon/hwmon0/temp1_input", "45000\n");
    for (const char* zone : {"intel-rapl:0", "intel-rapl:1"})
        fs::permissions(node.root.sys() / "class/powercap" / zone / "energy_uj", fs::perms::none);
    auto power = make_power_collector(node.options);
    const Unprivileged unprivileged(node.root.sys().parent_path());
    std::error_code error;
    if (!fs::exists(node.root.sys(), error)) GTEST_SKIP() << "others may not enter the temporary directory";
    for (int i = 1; i <= 3; ++i) {
        const stream::Batch rows = node.sample(*power, i);
        ASSERT_EQ(rows.rows(), 1U) << "the rest goes on";
        EXPECT_EQ(text(rows, 0, "source"), "hwmon");
    }
    ASSERT_EQ(node.events.size(), 1U);
    EXPECT_EQ(node.events[0].kind.name(), "collector_failed");
    EXPECT_EQ(node.events[0].severity, "info");
    EXPECT_EQ(node.events[0].subject, "power");
    EXPECT_EQ(node.events[0].code, EACCES);
    EXPECT_THAT(node.events[0].message, ::testing::HasSubstr("CVE-2020-8694"));
}

}  // namespace
}  // namespace belay::observe::hardware
