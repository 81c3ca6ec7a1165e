#include "observe/cgroup/fake_cgroups.h"

namespace belay::observe::cgroup {
namespace {

using namespace testing;

Readings unified_taken(std::string_view name, std::string_view text) {
    return taken(Version::kUnified, name, text);
}
std::string unified_capture(std::string_view name) {
    return core::read_file(fs::path(BELAY_TESTDATA) / "unified" / name).value();
}

TEST(observe_cgroup, files_of_version_2_are_read_in_base_units) {
    Readings readings;
    for (const File& file : unified_files()) file.take(unified_capture(file.name), readings);
    EXPECT_EQ(readings.cpu_seconds, 412.345678);
    EXPECT_EQ(readings.cpu_user_seconds, 400.111222);
    EXPECT_EQ(readings.cpu_system_seconds, 12.234456);
    EXPECT_EQ(readings.cpu_periods, 5000);
    EXPECT_EQ(readings.cpu_throttled_periods, 17);
    EXPECT_EQ(readings.cpu_throttled_seconds, 1.234567);
    EXPECT_EQ(readings.memory_bytes, 34'359'738'368);
    EXPECT_EQ(readings.memory_peak_bytes, 51'539'607'552);
    EXPECT_EQ(readings.memory_limit_bytes, 68'719'476'736);
    EXPECT_EQ(readings.memory_anonymous_bytes, 21'474'836'480);
    EXPECT_EQ(readings.memory_file_bytes, 10'737'418'240);
    EXPECT_EQ(readings.memory_shared_bytes, 8'589'934'592);
    EXPECT_EQ(readings.memory_high_events, 2);
    EXPECT_EQ(readings.memory_max_events, 31);
    EXPECT_EQ(readings.memory_oom_events, 4);
    EXPECT_EQ(readings.oom_kills, 3);
    EXPECT_EQ(readings.io_read_bytes, 1'073'741'825);
    EXPECT_EQ(readings.io_written_bytes, 4098);
    EXPECT_EQ(readings.io_reads, 262'147);
    EXPECT_EQ(readings.io_writes, 5);
    EXPECT_EQ(readings.pressure_cpu_some, 7.000001);
    EXPECT_EQ(readings.pressure_cpu_full, 6.000002);
    EXPECT_EQ(readings.pressure_memory_some, 5.000003);
    EXPECT_EQ(readings.pressure_memory_full, 4.000004);
    EXPECT_EQ(readings.pressure_io_some, 3.000005);
    EXPECT_EQ(readings.pressure_io_full, 2.000006);
    EXPECT_EQ(readings.processes, 2);
    EXPECT_EQ(readings.cpus, 8);
    EXPECT_EQ(readings.cpuset, "0-3,64-67");
}

TEST(observe_cgroup, without_a_limit_the_limit_of_version_2_is_nothing) {
    EXPECT_EQ(unified_taken("memory.max", "max\n").memory_limit_bytes, std::nullopt);
    EXPECT_EQ(unified_taken("memory.max", "0\n").memory_limit_bytes, 0);
}

TEST(observe_cgroup, cpu_time_is_counted_without_the_controller_of_cpus) {
    // As Linux 6.18 prints it then.
    const Readings readings =
        unified_taken("cpu.stat", "usage_usec 3\nuser_usec 2\nsystem_usec 1\nnice_usec 0\n");
    EXPECT_EQ(readings.cpu_seconds, 0.000003);
    EXPECT_EQ(readings.cpu_periods, std::nullopt);
    EXPECT_EQ(readings.cpu_throttled_seconds, std::nullopt);
}

TEST(observe_cgroup, before_the_first_io_version_2_counts_0) {
    EXPECT_EQ(unified_taken("io.stat", "").io_read_bytes, 0);
    EXPECT_EQ(unified_taken("io.stat", "8:0 \n").io_writes, 0);
    EXPECT_EQ(taken(Version::kUnified, "io.stat", std::nullopt).io_read_bytes, std::nullopt);
}

TEST(observe_cgroup, io_is_summed_over_many_devices_and_lines_that_a_kernel_runs_together) {
    std::string text;
    for (int minor = 0; minor < 5000; ++minor)
        text += fmt::format("259:{} rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0 cost.usage=7\n", minor);
    EXPECT_EQ(unified_taken("io.stat", text).io_written_bytes, 100'000);
    EXPECT_EQ(unified_taken("io.stat", text).io_reads, 5000);
    const Readings together = unified_taken("io.stat", "8:0 8:16 rbytes=5 wbytes=6 rios=7 wios=8\n253:0 ");
    EXPECT_EQ(together.io_read_bytes, 5);  // Linux 5.15
    EXPECT_EQ(together.io_writes, 8);
}

TEST(observe_cgroup, a_sum_with_an_unreadable_part_is_nothing) {
    const Readings readings = unified_taken(
        "io.stat",
        "8:0 rbytes=1 wbytes=9223372036854775807 rios=-1 wios=4\n8:1 rbytes=2 wbytes=1 rios=3 wios=x\n");
    EXPECT_EQ(readings.io_read_bytes, 3);
    EXPECT_EQ(readings.io_written_bytes, std::nullopt);
    EXPECT_EQ(readings.io_reads, std::nullopt);
    EXPECT_EQ(readings.io_writes, std::nullopt);
}

TEST(observe_cgroup, the_last_of_repeated_lines_counts) {
    EXPECT_EQ(unified_taken("memory.events", "oom_kill 1\noom_kill 2\n").oom_kills, 2);
}

TEST(observe_cgroup, processes_are_counted_and_cpus_need_not_be_told) {
    EXPECT_EQ(unified_taken("cgroup.procs", "").processes, 0);
    EXPECT_EQ(unified_taken("cgroup.procs", "0\n0\n7\n").processes, 3);
    EXPECT_EQ(unified_taken("cgroup.procs", "1\n2").processes, std::nullopt);
    EXPECT_EQ(unified_taken("cgroup.procs", "1\nx\n").processes, std::nullopt);
    EXPECT_EQ(unified_taken("cpuset.cpus.effective", "\n").cpuset, std::nullopt);
    EXPECT_EQ(unified_taken("cpuset.cpus.effective", "5\n").cpus, 1);
    EXPECT_EQ(unified_taken("cpuset.cpus.effective", "0-2000000000\n").cpus, std::nullopt);
    EXPECT_EQ(unified_taken("cpuset.cpus.effective", std::string(5000, '1') + "\n").cpuset, std::nullopt);
}

TEST(observe_cgroup, a_file_of_version_2_that_cannot_be_read_leaves_nothing_of_before) {
    Readings readings;
    for (const File& file : unified_files()) file.take(unified_capture(file.name), readings);
    for (const File& file : unified_files()) file.take(std::nullopt, readings);
    EXPECT_EQ(values_in(readings), 0U);
}

TEST(observe_cgroup, files_of_version_2_that_are_cut_or_hostile_never_lie) {
    for (const File& file : unified_files()) {
        expect_cuts_never_lie(Version::kUnified, file, unified_capture(file.name));
        if (file.name == "io.stat") continue;
        for (std::string_view text : kHostileTexts)
            EXPECT_EQ(values_in(unified_taken(file.name, text)), 0U) << file.name << text;
    }
}

}  // namespace
}  // namespace belay::observe::cgroup
