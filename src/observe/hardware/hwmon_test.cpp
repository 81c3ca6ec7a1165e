#include "observe/hardware/hwmon.h"

#include "observe/hardware/power.h"
#include "observe/hardware/testing.h"
#include "schema/tables/power.h"

#include <utility>

#include <gmock/gmock.h>

namespace belay::observe::hardware {
namespace {

using namespace testing;

void write_sensor(const FakeHardware& node, const std::string& chip,
                  const std::vector<std::pair<std::string, std::string>>& files) {
    for (const auto& [name, value] : files) node.write("sys/class/hwmon/" + chip + "/" + name, value + "\n");
}

std::vector<std::string> domains_of(const stream::Batch& rows) {
    std::vector<std::string> domains;
    for (size_t row = 0; row < rows.rows(); ++row) domains.push_back(text(rows, row, "domain").value());
    return domains;
}

TEST(observe_hardware, hwmon_files_are_known_by_their_names) {
    EXPECT_EQ(parse_hwmon_attribute("power1_average"), (HwmonAttribute{HwmonKind::kPower, 1}));
    EXPECT_EQ(parse_hwmon_attribute("power12_input"), (HwmonAttribute{HwmonKind::kPower, 12}));
    EXPECT_EQ(parse_hwmon_attribute("temp3_input"), (HwmonAttribute{HwmonKind::kTemperature, 3}));
    EXPECT_EQ(parse_hwmon_attribute("energy1_input"), (HwmonAttribute{HwmonKind::kEnergy, 1}));
    for (const char* other :
         {"power1_average_interval", "power1_cap", "temp1_crit", "temp1_label", "fan1_input", "temp_input",
          "power1", "in0_input", "tempx_input", "temp1_average", ""})
        EXPECT_EQ(parse_hwmon_attribute(other), std::nullopt) << other;
}

TEST(observe_hardware, disks_and_single_cores_are_left_out) {
    EXPECT_TRUE(is_left_out("nvme", ""));
    EXPECT_TRUE(is_left_out("drivetemp", "temp1"));
    EXPECT_TRUE(is_left_out("coretemp", "Core 12"));
    EXPECT_FALSE(is_left_out("coretemp", ""));
    EXPECT_FALSE(is_left_out("coretemp", "Package id 0"));
    EXPECT_TRUE(is_left_out("amd_energy", "Ecore005"));
    EXPECT_FALSE(is_left_out("amd_energy", "Esocket0"));
}

// GH200: drivers/hwmon/acpi_power_meter.c of Linux 6.5 has everything with the device of ACPI.
TEST(observe_hardware, the_power_meters_of_a_gh200_are_known_by_what_the_maker_calls_them) {
    FakeHardware node;
    const char* const names[] = {"Module Power Socket 0", "Grace Power Socket 0", "CPU Power Socket 0",
                                 "SysIO Power Socket 0"};
    for (int i = 0; i < 4; ++i) {
        const std::string device = "devices/LNXSYSTM:00/ACPI000D:0" + std::to_string(i);
        node.link("class/hwmon/hwmon" + std::to_string(i + 1) + "/device", device);
        node.write("sys/" + device + "/name", "power_meter\n");
        node.write("sys/" + device + "/power1_average", std::to_string(285'000'001 + i) + "\n");
        node.write("sys/" + device + "/power1_average_interval", "50\n");
        node.write("sys/" + device + "/power1_oem_info", std::string(names[i]) + "\n");
        node.write("sys/" + device + "/power1_serial_number", "1\n");
    }
    auto power = make_power_collector(node.options);
    const stream::Batch rows = node.sample(*power);
    ASSERT_EQ(rows.rows(), 4U);
    const size_t grace = row_where(rows, "domain", "power_meter/Grace Power Socket 0").value();
    EXPECT_EQ(text(rows, grace, "source"), "hwmon");
    EXPECT_EQ(text(rows, grace, "device"), "ACPI000D:01");
    EXPECT_EQ(real(rows, grace, "power_watts"), 285.000002);
    EXPECT_TRUE(is_null(rows, grace, "energy_joules_total"));
}

// x86 with drivers that register with info, as all new ones do.
TEST(observe_hardware, temperatures_are_those_of_packages_also_below_zero) {
    FakeHardware node;
    node.link("class/hwmon/hwmon3/device", "devices/platform/coretemp.0");
    write_sensor(node, "hwmon3",
                 {{"name", "coretemp"},
                  {"temp1_input", "54000"},
                  {"temp1_label", "Package id 0"},
                  {"temp2_input", "50000"},
                  {"temp2_label", "Core 0"},
                  {"temp1_crit", "100000"}});
    write_sensor(node, "hwmon4", {{"name", "jc42"}, {"temp1_input", "-1250"}});
    write_sensor(node, "hwmon5", {{"name", "nvme"}, {"temp1_input", "40000"}});
    write_sensor(node, "hwmon6", {{"name", "odd"}, {"temp1_input", "-300000"}, {"temp2_input", "hot"}});
    auto power = make_power_collector(node.options);
    const stream::Batch rows = node.sample(*power);
    EXPECT_THAT(domains_of(rows), ::testing::ElementsAre("coretemp/Package id 0", "jc42/temp1"));
    EXPECT_EQ(real(rows, 0, "temperature_celsius"), 54.0);
    EXPECT_EQ(text(rows, 0, "device"), "coretemp.0");
    EXPECT_EQ(real(rows, 1, "temperature_celsius"), -1.25);
    EXPECT_TRUE(is_null(rows, 1, "device"));
}

TEST(observe_hardware, sensors_of_one_label_are_one_domain) {
    FakeHardware node;
    write_sensor(node, "hwmon0",
                 {{"name", "xe"},
                  {"power1_input", "30000000"},
                  {"power1_label", "card"},
                  {"energy1_input", "18446744073709"},
                  {"energy1_label", "card"},
                  {"temp2_input", "61000"},
                  {"temp2_label", "card"},
                  {"temp3_input", "62000"},
                  {"temp3_label", "card"},
                  {"power2_average", "11000000"},
                  {"power2_input", "99000000"},
                  {"power2_label", "pkg"}});
    auto power = make_power_collector(node.options);
    const stream::Batch rows = node.sample(*power);
    EXPECT_THAT(domains_of(rows), ::testing::UnorderedElementsAre("xe/card", "xe/card 3", "xe/pkg"));
    const size_t card = row_where(rows, "domain", "xe/card").value();
    EXPECT_EQ(real(rows, card, "power_watts"), 30.0);
    EXPECT_EQ(real(rows, card, "energy_joules_total"), 18446744.073709);
    EXPECT_EQ(real(rows, card, "temperature_celsius"), 61.0);
    EXPECT_EQ(real(rows, row_where(rows, "domain", "xe/card 3").value(), "temperature_celsius"), 62.0);
    EXPECT_EQ(real(rows, row_where(rows, "domain", "xe/pkg").value(), "power_watts"), 11.0) << "the average";
}

TEST(observe_hardware, equal_chips_are_told_apart_by_their_device_whatever_their_number) {
    FakeHardware node;
    for (int i = 0; i < 2; ++i) {
        const std::string chip = "hwmon" + std::to_string(i);
        node.link("class/hwmon/" + chip + "/device",
                  "devices/pci0000:00/0000:00:1" + std::to_string(8 + i) + ".3");
        write_sensor(
            node, chip,
            {{"name", "k10temp"}, {"temp1_input", std::to_string(40 + i) + "000"}, {"temp1_label", "Tctl"}});
    }
    auto power = make_power_collector(node.options);
    const stream::Batch rows = node.sample(*power);
    ASSERT_EQ(rows.rows(), 2U);
    EXPECT_EQ(real(rows, row_where(rows, "device", "0000:00:18.3").value(), "temperature_celsius"), 40.0);
    EXPECT_EQ(real(rows, row_where(rows, "device", "0000:00:19.3").value(), "temperature_celsius"), 41.0);
}

// Before Linux 6.7 a meter that cannot tell gives all bits of 32, in milliwatts.
TEST(observe_hardware, a_meter_that_cannot_tell_has_no_row) {
    FakeHardware node;
    write_sensor(node, "hwmon0", {{"name", "power_meter"}, {"power1_average", "4294967295000"}});
    write_sensor(node, "hwmon1", {{"name", "power_meter"}, {"power1_average", "18446744073709550616"}});
    write_sensor(node, "hwmon2", {{"power1_average", "1"}});  // a chip without a name
    auto power = make_power_collector(node.options);
    EXPECT_EQ(node.sample(*power).rows(), 0U);
    write_sensor(node, "hwmon0", {{"power1_average", "0"}});
    EXPECT_EQ(real(node.sample(*power), 0, "power_watts"), 0.0) << "0 W is something else";
}

TEST(observe_hardware, temperatures_are_read_seldom_and_stand_between) {
    FakeHardware node;
    node.options.slow_every = 2;
    node.options.look_every = 4;
    write_sensor(node, "hwmon0",
                 {{"name", "k10temp"}, {"temp1_input", "40000"}, {"power1_input", "1000000"}});
    auto power = make_power_collector(node.options);
    auto celsius = [&] {
        const stream::Batch rows = node.sample(*power);
        return real(rows, row_where(rows, "domain", "k10temp/temp1").value(), "temperature_celsius");
    };
    EXPECT_EQ(celsius(), 40.0);
    write_sensor(node, "hwmon0", {{"temp1_input", "50000"}});
    EXPECT_EQ(celsius(), 40.0);
    EXPECT_EQ(celsius(), 50.0);
}

TEST(observe_hardware, very_many_sensors_are_not_all_taken) {
    FakeHardware node;
    for (int i = 1; i <= 200; ++i)
        write_sensor(node, "hwmon0", {{"name", "many"}, {"temp" + std::to_string(i) + "_input", "1000"}});
    auto power = make_power_collector(node.options);
    EXPECT_EQ(node.sample(*power).rows(), 64U);
}

}  // namespace
}  // namespace belay::observe::hardware
