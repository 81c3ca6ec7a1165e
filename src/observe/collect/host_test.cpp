#include "observe/collect/host.h"

#include "observe/collect/testing.h"

#include <unistd.h>

namespace belay::observe::collect {
namespace {

using namespace testing;

double ticks(double count) {
    return count / static_cast<double>(sysconf(_SC_CLK_TCK));
}

TEST(observe_collect, host_follows_a_kernel_with_pressure) {
    FakeRoot root;
    root.load("x86_64_psi/tick1");
    std::unique_ptr<Collector> host = make_host_collector(root.options());
    stream::Batch rows = sampled(*host, at_second(1));
    ASSERT_EQ(rows.rows(), 1u);
    EXPECT_EQ(integer(rows, 0, "time"), 1'000'000'000);
    EXPECT_EQ(text(rows, 0, "node"), "n1");
    EXPECT_EQ(integer(rows, 0, "cpu_count"), 2);
    EXPECT_EQ(real(rows, 0, "cpu_user_seconds_total"), ticks(252424 + 37818));
    EXPECT_EQ(real(rows, 0, "cpu_system_seconds_total"), ticks(30340));
    EXPECT_EQ(real(rows, 0, "cpu_idle_seconds_total"), ticks(364579));
    EXPECT_EQ(real(rows, 0, "cpu_iowait_seconds_total"), ticks(2258));
    EXPECT_EQ(real(rows, 0, "cpu_irq_seconds_total"), ticks(0 + 483));
    EXPECT_EQ(real(rows, 0, "cpu_steal_seconds_total"), ticks(135));
    EXPECT_EQ(real(rows, 0, "load_1m"), 10.23);
    EXPECT_EQ(integer(rows, 0, "threads_running"), 11);
    EXPECT_EQ(integer(rows, 0, "interrupts_total"), 2519008);
    EXPECT_EQ(integer(rows, 0, "memory_total_bytes"), int64_t{24684112} * 1024);
    EXPECT_EQ(integer(rows, 0, "memory_free_bytes"), int64_t{17897892} * 1024);
    EXPECT_EQ(integer(rows, 0, "memory_committed_bytes"), int64_t{2743032} * 1024);
    EXPECT_EQ(integer(rows, 0, "page_faults_major_total"), 6326);
    EXPECT_EQ(integer(rows, 0, "oom_kills_total"), 0);
    EXPECT_EQ(real(rows, 0, "pressure_cpu_some_seconds_total"), 1126.598857);
    EXPECT_EQ(real(rows, 0, "pressure_io_some_seconds_total"), 22.293634);
    EXPECT_EQ(real(rows, 0, "pressure_io_full_seconds_total"), 17.227819);
    EXPECT_EQ(real(rows, 0, "pressure_memory_full_seconds_total"), 0);
    EXPECT_TRUE(is_null(rows, 0, "collection_seconds"));  // belongs to the whole tick

    root.load("x86_64_psi/tick2");
    rows = sampled(*host, at_second(2));
    EXPECT_EQ(real(rows, 0, "cpu_user_seconds_total"), ticks(252578 + 37867));
    EXPECT_EQ(integer(rows, 0, "context_switches_total"), 5712198);
    EXPECT_EQ(integer(rows, 0, "forks_total"), 90091);
    EXPECT_EQ(integer(rows, 0, "page_faults_major_total"), 6327);
    EXPECT_EQ(real(rows, 0, "pressure_cpu_some_seconds_total"), 1127.705043);
}

TEST(observe_collect, what_a_kernel_does_not_tell_is_null) {
    FakeRoot root;
    root.load("aarch64_no_psi");
    std::unique_ptr<Collector> host = make_host_collector(root.options());
    stream::Batch rows = sampled(*host, at_second(1));
    ASSERT_EQ(rows.rows(), 1u);
    EXPECT_EQ(integer(rows, 0, "cpu_count"), 72);
    EXPECT_EQ(real(rows, 0, "cpu_user_seconds_total"), ticks(72 * 1010 + 71 * 36));
    EXPECT_EQ(integer(rows, 0, "threads_blocked"), 2);
    EXPECT_EQ(integer(rows, 0, "context_switches_total"), 4123456789012);
    EXPECT_EQ(integer(rows, 0, "compaction_stalls_total"), 17);
    EXPECT_TRUE(is_null(rows, 0, "oom_kills_total"));
    for (std::string_view resource : {"cpu_some", "memory_some", "memory_full", "io_some", "io_full"})
        EXPECT_TRUE(is_null(rows, 0, fmt::format("pressure_{}_seconds_total", resource))) << resource;
}

TEST(observe_collect, host_keeps_what_is_there_when_files_vanish_and_come_back) {
    FakeRoot root;
    root.load("x86_64_psi/tick1");
    root.remove("proc/meminfo");
    root.write("proc/vmstat", "");
    std::unique_ptr<Collector> host = make_host_collector(root.options());
    stream::Batch rows = sampled(*host, at_second(1));
    EXPECT_TRUE(is_null(rows, 0, "memory_total_bytes"));
    EXPECT_TRUE(is_null(rows, 0, "page_faults_major_total"));
    EXPECT_FALSE(is_null(rows, 0, "cpu_count"));
    root.load("x86_64_psi/tick1");
    EXPECT_FALSE(is_null(sampled(*host, at_second(2)), 0, "memory_total_bytes"));
}

TEST(observe_collect, host_without_proc_is_an_error_and_no_row) {
    FakeRoot root;
    std::unique_ptr<Collector> host = make_host_collector(root.options());
    stream::Batch rows(host->table());
    core::Result<> result = host->collect({at_second(1), "n1"}, rows);
    ASSERT_FALSE(result.has_value());
    EXPECT_NE(result.error().message().find("proc/stat"), std::string::npos);
    EXPECT_EQ(rows.rows(), 0u);
}

TEST(observe_collect, host_of_this_machine_is_plausible) {
    std::unique_ptr<Collector> host = make_host_collector({});
    stream::Batch first = sampled(*host, at_second(1));
    stream::Batch second = sampled(*host, at_second(2));
    EXPECT_GE(integer(first, 0, "cpu_count"), 1);
    EXPECT_GT(integer(first, 0, "memory_total_bytes"), integer(first, 0, "memory_free_bytes"));
    EXPECT_GE(integer(second, 0, "context_switches_total"), integer(first, 0, "context_switches_total"));
    EXPECT_GE(real(second, 0, "cpu_system_seconds_total"), real(first, 0, "cpu_system_seconds_total"));
}

}  // namespace
}  // namespace belay::observe::collect
