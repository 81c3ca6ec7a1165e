#include "observe/cgroup/fake_cgroups.h"

#include <unistd.h>

namespace belay::observe::cgroup {
namespace {

using namespace testing;

Readings legacy_taken(std::string_view name, std::string_view text) {
    return taken(Version::kLegacy, name, text);
}
// Where a file has a fallback the captures hold that; nothing for the list of processes.
std::optional<std::string> legacy_capture(const File& file) {
    if (file.controller.empty()) return std::nullopt;
    const fs::path at = fs::path(BELAY_TESTDATA) / "legacy" / file.controller;
    return core::read_file(fs::exists(at / file.name) ? at / file.name : at / file.fallback).value();
}

TEST(observe_cgroup, files_of_version_1_are_read_in_base_units) {
    Readings readings;
    for (const File& file : legacy_files()) file.take(legacy_capture(file), readings);
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    EXPECT_EQ(readings.cpu_seconds, 1673.659831152);  // from nanoseconds
    EXPECT_EQ(readings.cpu_user_seconds, 111324 / ticks);
    EXPECT_EQ(readings.cpu_system_seconds, 56041 / ticks);
    EXPECT_EQ(readings.cpu_periods, 100);
    EXPECT_EQ(readings.cpu_throttled_periods, 9);
    EXPECT_EQ(readings.cpu_throttled_seconds, 1.5);
    EXPECT_EQ(readings.memory_bytes, 2'147'483'648);
    EXPECT_EQ(readings.memory_peak_bytes, 3'221'225'472);
    EXPECT_EQ(readings.memory_limit_bytes, 4'294'967'296);
    EXPECT_EQ(readings.memory_anonymous_bytes, 1'006'632'960) << "with what is beneath it";
    EXPECT_EQ(readings.memory_file_bytes, 1'073'741'824);
    EXPECT_EQ(readings.memory_shared_bytes, 536'870'912);
    EXPECT_EQ(readings.memory_max_events, 7);
    EXPECT_EQ(readings.oom_kills, 1);
    EXPECT_EQ(readings.io_read_bytes, 4196);
    EXPECT_EQ(readings.io_written_bytes, 8392);
    EXPECT_EQ(readings.io_reads, 11);
    EXPECT_EQ(readings.io_writes, 22);
    EXPECT_EQ(readings.cpus, 4);
    EXPECT_EQ(readings.cpuset, "0-3");
    EXPECT_EQ(readings.memory_oom_events, std::nullopt);
    EXPECT_EQ(readings.pressure_io_some, std::nullopt);
}

TEST(observe_cgroup, without_a_limit_the_limit_of_version_1_is_nothing) {
    for (const char* unlimited : {"9223372036854771712\n",  // pages of 4 KiB
                                  "9223372036854710272\n",  // of 64 KiB
                                  "9223372036854775807\n",  // Linux 3.10
                                  "18446744073709551615\n"})
        EXPECT_EQ(legacy_taken("memory.limit_in_bytes", unlimited).memory_limit_bytes, std::nullopt)
            << unlimited;
    EXPECT_EQ(legacy_taken("memory.limit_in_bytes", "1099511627776\n").memory_limit_bytes, 1'099'511'627'776);
}

TEST(observe_cgroup, older_kernels_do_not_count_kills) {
    const Readings readings =
        legacy_taken("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n");  // 3.10
    EXPECT_EQ(readings.oom_kills, std::nullopt);
}

TEST(observe_cgroup, before_the_first_io_version_1_counts_0) {
    constexpr std::string_view kFile = "blkio.throttle.io_service_bytes_recursive";
    EXPECT_EQ(legacy_taken(kFile, "Total 0\n").io_read_bytes, 0);
    EXPECT_EQ(legacy_taken(kFile, "").io_read_bytes, std::nullopt) << "it always says a total";
    EXPECT_EQ(
        legacy_taken(kFile, "8:0 Read 9223372036854775807\n8:1 Read 1\n8:1 Write 4\nTotal 5\n").io_read_bytes,
        std::nullopt);
    EXPECT_EQ(legacy_taken(kFile, "8:0 Read 1\n8:0 Write -4\nTotal 5\n").io_written_bytes, std::nullopt);
}

TEST(observe_cgroup, a_file_of_version_1_that_cannot_be_read_leaves_nothing_of_before) {
    Readings readings;
    for (const File& file : legacy_files()) file.take(legacy_capture(file), readings);
    for (const File& file : legacy_files()) file.take(std::nullopt, readings);
    EXPECT_EQ(values_in(readings), 0U);
}

TEST(observe_cgroup, files_of_version_1_that_are_cut_or_hostile_never_lie) {
    for (const File& file : legacy_files()) {
        if (const auto text = legacy_capture(file)) expect_cuts_never_lie(Version::kLegacy, file, *text);
        if (file.controller == "blkio") continue;
        for (std::string_view text : kHostileTexts)
            EXPECT_EQ(values_in(legacy_taken(file.name, text)), 0U) << file.name << text;
    }
}

}  // namespace
}  // namespace belay::observe::cgroup
