#include "observe/hardware/nvme.h"

#include "observe/hardware/smart_page.h"
#include "observe/hardware/smart_probe.h"
#include "observe/hardware/testing.h"
#include "procfs/pid_stat.h"
#include "schema/tables/nvme.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <unistd.h>

#include <gmock/gmock.h>

namespace belay::observe::hardware {
namespace {

using namespace testing;
using namespace std::chrono_literals;

constexpr core::Duration kPlentyOfTime = 60s;

// In the child: what the name of the device asks for.
int answer_as_named(const char* device, std::span<char, kSmartLogBytes> page) {
    const char* name = std::strrchr(device, '/') + 1;
    if (std::strcmp(name, "nvme7") == 0)
        while (true) pause();
    if (std::strcmp(name, "nvme8") == 0) _exit(3);
    if (std::strcmp(name, "nvme9") == 0) return EACCES;
    page[1] = 300 % 256;
    page[2] = 300 / 256;
    page[112] = name[4];
    return 0;
}

// Until all of a round have been heard of.
std::vector<SmartProbe::Answer> all_answers(SmartProbe& probe) {
    std::vector<SmartProbe::Answer> answers;
    do {
        for (SmartProbe::Answer& answer : probe.take()) answers.push_back(std::move(answer));
        usleep(1000);
    } while (probe.is_busy());
    return answers;
}

TEST(observe_hardware, each_disk_of_a_round_answers_once) {
    SmartProbe probe(answer_as_named, kPlentyOfTime);
    EXPECT_FALSE(probe.is_busy());
    EXPECT_TRUE(probe.take().empty());
    EXPECT_EQ(probe.child(), -1);
    for (int round = 0; round < 2; ++round) {
        probe.start({"/dev/nvme0", "/dev/nvme9", "/dev/nvme1"});
        const auto answers = all_answers(probe);
        ASSERT_EQ(answers.size(), 3U);
        EXPECT_EQ(answers[0].device, "/dev/nvme0");
        EXPECT_EQ(answers[0].error, 0);
        EXPECT_EQ(answers[0].page[112], '0');
        EXPECT_EQ(answers[1].error, EACCES);
        EXPECT_EQ(answers[2].page[112], '1');
        EXPECT_EQ(probe.child(), -1) << "none is kept for the next five minutes";
    }
    EXPECT_GT(probe.cpu_seconds(), 0);
    probe.start({});
    EXPECT_FALSE(probe.is_busy());
}

TEST(observe_hardware, a_disk_that_hangs_or_ends_its_child_is_passed_over) {
    SmartProbe probe(answer_as_named, 2s);
    probe.start({"/dev/nvme7", "/dev/nvme0", "/dev/nvme8", "/dev/nvme1"});
    const auto answers = all_answers(probe);
    ASSERT_EQ(answers.size(), 4U);
    EXPECT_EQ(answers[0].error, ETIMEDOUT);
    EXPECT_EQ(answers[1].error, 0);
    EXPECT_EQ(answers[2].error, ECONNRESET);
    EXPECT_EQ(answers[3].error, 0);
}

bool runs(pid_t pid) {
    const auto text = core::read_file("/proc/" + std::to_string(pid) + "/stat");
    const auto stat = text ? procfs::parse_pid_stat(*text) : std::nullopt;
    return stat && stat->state != 'Z';
}

TEST(observe_hardware, a_round_under_way_ends_with_its_probe) {
    pid_t child = -1;
    {
        SmartProbe probe(answer_as_named, kPlentyOfTime);
        probe.start({"/dev/nvme7"});
        probe.take();
        child = probe.child();
        ASSERT_GT(child, 0);
    }
    for (int i = 0; i < 1000 && runs(child); ++i) usleep(10'000);
    EXPECT_FALSE(runs(child));
}

// As drivers/nvme/host/sysfs.c of Linux 6.1 prints it.
void write_controller(const FakeHardware& node, const std::string& name, const std::string& state = "live") {
    const std::string directory = "sys/class/nvme/" + name + "/";
    node.write(directory + "model", "SAMSUNG MZQL23T8HCLS-00A07              \n");
    node.write(directory + "serial", "S64HNE0R123456      \n");
    node.write(directory + "firmware_rev", "GDC5602Q\n");
    node.write(directory + "transport", "pcie\n");
    node.write(directory + "address", "0000:c1:00.0\n");
    node.write(directory + "numa_node", "1\n");
    node.write(directory + "queue_count", "65\n");
    node.write(directory + "state", state + "\n");
}

// Ticks until `count` rows have come, all at one second.
stream::Batch rows_of(const FakeHardware& node, collect::Collector& nvme, size_t count, int64_t second) {
    stream::Batch rows(nvme.table());
    for (int i = 0; i < 60'000 && rows.rows() < count; ++i) {
        rows.append(node.sample(nvme, second));
        usleep(1000);
    }
    return rows;
}

TEST(observe_hardware, a_disk_has_a_row_once_in_five_minutes) {
    FakeHardware node;
    node.options.read_smart_log = answer_as_named;
    node.options.smart_patience = kPlentyOfTime;
    write_controller(node, "nvme0");
    node.write("sys/class/nvme/nvme-subsys0/model", "not a controller\n");
    auto nvme = make_nvme_collector(node.options);
    const stream::Batch rows = rows_of(node, *nvme, 1, 10);
    ASSERT_EQ(rows.rows(), 1U);
    EXPECT_EQ(text(rows, 0, "device"), "nvme0");
    EXPECT_EQ(text(rows, 0, "address"), "0000:c1:00.0");
    EXPECT_EQ(text(rows, 0, "model"), "SAMSUNG MZQL23T8HCLS-00A07");
    EXPECT_EQ(text(rows, 0, "firmware"), "GDC5602Q");
    EXPECT_EQ(text(rows, 0, "state"), "live");
    EXPECT_EQ(integer(rows, 0, "numa_node"), 1);
    EXPECT_EQ(integer(rows, 0, "queue_count"), 65);
    EXPECT_TRUE(is_null(rows, 0, "resets_total")) << "this kernel does not count them";
    EXPECT_EQ(real(rows, 0, "temperature_celsius"), 26.85);
    EXPECT_EQ(integer(rows, 0, "power_cycles_total"), '0');
    EXPECT_EQ(integer(rows, 0, "media_errors_total"), 0);
    EXPECT_TRUE(is_null(rows, 0, "read_bytes_total"));
    for (const stream::ColumnValues* column : {&rows.values(2), &rows.values(3), &rows.values(4)})
        EXPECT_EQ(column->texts[0].find("S64HNE0R123456"), std::string::npos);
    EXPECT_FALSE(nvme->is_expected()) << "no tick owes a row";
    EXPECT_GT(nvme->helper_cpu_seconds(), 0);
    for (int64_t second : {11, 100, 309}) EXPECT_EQ(node.sample(*nvme, second).rows(), 0U) << second;
    EXPECT_EQ(rows_of(node, *nvme, 1, 310).rows(), 1U);
    EXPECT_EQ(rows_of(node, *nvme, 1, 5).rows(), 1U) << "the clock went back";
}

// Newer kernels count resets, in a folder of their own.
TEST(observe_hardware, resets_are_read_where_the_kernel_counts_them) {
    FakeHardware node;
    node.options.read_smart_log = answer_as_named;
    write_controller(node, "nvme0");
    node.write("sys/class/nvme/nvme0/diag/reset_count", "4\n");
    node.write("sys/class/nvme/nvme0/diag/command_error_count", "17\n");
    node.write("sys/class/nvme/nvme0/numa_node", "-1\n");
    node.write("sys/class/nvme/nvme0/transport", "tcp\n");
    node.write("sys/class/nvme/nvme0/address", "traddr=10.0.0.1,trsvcid=4420\n");
    auto nvme = make_nvme_collector(node.options);
    const stream::Batch rows = rows_of(node, *nvme, 1, 10);
    EXPECT_EQ(integer(rows, 0, "resets_total"), 4);
    EXPECT_EQ(integer(rows, 0, "command_errors_total"), 17);
    EXPECT_TRUE(is_null(rows, 0, "numa_node"));
    EXPECT_TRUE(is_null(rows, 0, "address")) << "that of a server";
}

TEST(observe_hardware, a_change_of_state_has_a_row_at_once) {
    FakeHardware node;
    node.options.read_smart_log = answer_as_named;
    node.options.smart_patience = kPlentyOfTime;
    write_controller(node, "nvme0");
    auto nvme = make_nvme_collector(node.options);
    rows_of(node, *nvme, 1, 10);
    write_controller(node, "nvme0", "resetting");
    const stream::Batch rows = node.sample(*nvme, 12);
    ASSERT_EQ(rows.rows(), 1U);
    EXPECT_EQ(text(rows, 0, "state"), "resetting");
    EXPECT_TRUE(is_null(rows, 0, "critical_warning"));
    EXPECT_EQ(node.sample(*nvme, 13).rows(), 0U);
}

TEST(observe_hardware, a_new_disk_is_asked_at_once_and_one_that_went_is_forgotten) {
    FakeHardware node;
    node.options.read_smart_log = answer_as_named;
    node.options.smart_patience = kPlentyOfTime;
    write_controller(node, "nvme0");
    auto nvme = make_nvme_collector(node.options);
    rows_of(node, *nvme, 1, 10);
    write_controller(node, "nvme1");
    EXPECT_EQ(rows_of(node, *nvme, 2, 11).rows(), 2U);
    node.root.remove("sys/class/nvme/nvme0");
    const stream::Batch rows = rows_of(node, *nvme, 1, 400);
    ASSERT_EQ(rows.rows(), 1U);
    EXPECT_EQ(text(rows, 0, "device"), "nvme1");
}

TEST(observe_hardware, that_only_root_may_read_the_health_of_disks_is_told_once) {
    FakeHardware node;
    node.options.read_smart_log = [](const char*, std::span<char, kSmartLogBytes>) { return EACCES; };
    node.options.smart_patience = kPlentyOfTime;
    write_controller(node, "nvme0");
    write_controller(node, "nvme1");
    auto nvme = make_nvme_collector(node.options);
    const stream::Batch rows = rows_of(node, *nvme, 2, 10);
    EXPECT_EQ(text(rows, 0, "firmware"), "GDC5602Q") << "the rest goes on";
    EXPECT_TRUE(is_null(rows, 0, "used_ratio"));
    rows_of(node, *nvme, 2, 400);
    ASSERT_EQ(node.events.size(), 1U);
    EXPECT_EQ(node.events[0].subject, "nvme");
    EXPECT_EQ(node.events[0].code, EACCES);
}

TEST(observe_hardware, a_disk_that_hangs_is_told_and_the_others_go_on) {
    FakeHardware node;
    node.options.read_smart_log = answer_as_named;
    node.options.smart_patience = 2s;
    write_controller(node, "nvme7");
    write_controller(node, "nvme0");
    auto nvme = make_nvme_collector(node.options);
    const stream::Batch rows = rows_of(node, *nvme, 2, 10);
    EXPECT_TRUE(is_null(rows, row_where(rows, "device", "nvme7").value(), "used_ratio"));
    EXPECT_EQ(real(rows, row_where(rows, "device", "nvme0").value(), "used_ratio"), 0.0);
    ASSERT_EQ(node.events.size(), 1U);
    EXPECT_EQ(node.events[0].code, ETIMEDOUT);
    EXPECT_THAT(node.events[0].message, ::testing::HasSubstr("nvme7"));
}

TEST(observe_hardware, a_node_without_nvme_has_no_rows) {
    FakeHardware node;
    auto nvme = make_nvme_collector(node.options);
    EXPECT_EQ(node.sample(*nvme).rows(), 0U);
}

}  // namespace
}  // namespace belay::observe::hardware
