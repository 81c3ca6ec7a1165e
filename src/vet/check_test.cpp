#include "core/file.h"
#include "kernels/parallel.h"
#include "vet/check_facts.h"
#include "vet/check_testing.h"
#include "vet/verdict_json.h"

#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::vet {
namespace {

using namespace testing;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(vet, memory_is_what_can_be_had) {
    const procfs::Meminfo memory{.total = 1000, .available = 400};
    EXPECT_EQ(judge_memory(memory, 400, {}).status, Status::kPass);
    Outcome out = judge_memory(memory, 401, {});
    EXPECT_EQ(out.status, Status::kFail);
    EXPECT_EQ(out.value, 400.0);
    EXPECT_EQ(out.limit, 401.0);
    EXPECT_EQ(judge_memory(memory, {}, 0.5).status, Status::kFail);
    EXPECT_EQ(judge_memory(memory, {}, {}).status, Status::kUnsupported);
    EXPECT_EQ(judge_memory({.total = 1000}, 1, {}).status, Status::kError) << "never a pass without a figure";
}

constexpr std::string_view kMounts =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 22 0:5 / /scratch\\040space rw shared:2 - lustre a@b:/fs rw,flock\n"
    "31 22 0:6 / /data rw - tmpfs tmpfs ro\n"
    "32 22 0:7 / /data ro - nfs server:/d rw\n"
    "broken line\n";

TEST(vet, mounts) {
    auto mounts = procfs::parse_mountinfo(kMounts);
    ASSERT_EQ(mounts.size(), 4U);
    EXPECT_EQ(judge_mount(mounts, "/scratch space/", "lustre", true).status, Status::kPass);
    EXPECT_EQ(judge_mount(mounts, "/scratch space", "gpfs", true).status, Status::kFail);
    EXPECT_EQ(judge_mount(mounts, "/scratch", {}, false).status, Status::kFail);
    Outcome hidden = judge_mount(mounts, "/data", "nfs", true);
    EXPECT_EQ(hidden.status, Status::kFail) << "the later mount hides the earlier";
    EXPECT_THAT(hidden.reason.text(), HasSubstr("read-only"));
}

TEST(vet, usage_as_df_counts_it) {
    // 100 blocks, 20 free, of which root keeps 5: 80 used of 95.
    UsageFacts facts{.block_bytes = 4096,
                     .blocks = 100,
                     .free_blocks = 20,
                     .available_blocks = 15,
                     .inodes = 100,
                     .free_inodes = 50};
    Outcome out = judge_usage(facts, {.warn = 0.8, .crit = 0.85});
    EXPECT_EQ(out.status, Status::kPass);
    EXPECT_DOUBLE_EQ(*out.value, 80.0 / 95);
    EXPECT_THAT(out.reason.text(), HasSubstr("over the 80 %"));
    EXPECT_EQ(judge_usage(facts, {.crit = 0.84}).status, Status::kFail);
    facts.free_inodes = 2;
    out = judge_usage(facts, {.crit = 0.85});
    EXPECT_EQ(out.status, Status::kFail);
    EXPECT_THAT(out.reason.text(), HasSubstr("98.0 % of inodes"));
    facts.inodes = facts.free_inodes = 0;
    EXPECT_EQ(judge_usage(facts, {.crit = 0.85}).status, Status::kPass) << "no limit of inodes";
    EXPECT_EQ(judge_usage(facts, {.crit = 0.85, .min_free_bytes = 15 * 4096 + 1}).status, Status::kFail);
    EXPECT_EQ(judge_usage(facts, {.crit = {}}).status, Status::kUnsupported) << "no criterion";
    EXPECT_EQ(judge_usage(facts, {.crit = {}, .min_free_bytes = 1}).status, Status::kPass);
    Outcome none = judge_usage({}, {});
    EXPECT_EQ(none.status, Status::kUnsupported) << "a file system without blocks, such as /proc";
    EXPECT_THAT(none.reason.text(), HasSubstr("no blocks"));
}

TEST(vet, cpus_are_counted) {
    EXPECT_EQ(judge_cpu_count(8, 8, {}).status, Status::kPass);
    EXPECT_EQ(judge_cpu_count(9, 8, {}).status, Status::kFail);
    EXPECT_EQ(judge_cpu_count(9, {}, 8).status, Status::kPass);
    EXPECT_EQ(judge_cpu_count(7, {}, 8).status, Status::kFail);
    EXPECT_EQ(judge_cpu_count(7, {}, {}).status, Status::kUnsupported);
}

TEST(vet, slowest_cpu_counts) {
    Outcome out = judge_frequency({{0, 2000}, {1, 1200}}, 1498);
    EXPECT_EQ(out.status, Status::kFail);
    EXPECT_EQ(out.device, "cpu1");
}

TEST(vet, old_waiting_processes_count) {
    const procfs::PidStat stat{.pid = 12, .state = 'D', .command = "nfs", .start_ticks = 10000};
    ProcessFacts facts = process_facts(stat, 500, 0.01);
    EXPECT_EQ(facts.command, "nfs");
    EXPECT_DOUBLE_EQ(facts.age_seconds, 400);
    EXPECT_FALSE(facts.kernel_thread);
    EXPECT_EQ(suspects({facts}, 'D', 300).size(), 1U);
    EXPECT_THAT(suspects({facts}, 'D', 401), IsEmpty());
    EXPECT_THAT(suspects({facts}, 'Z', 300), IsEmpty());
    EXPECT_EQ(judge_processes({facts}, 0).status, Status::kFail);
    EXPECT_EQ(judge_processes({facts}, 1).status, Status::kPass);
    facts.kernel_thread = true;
    EXPECT_THAT(suspects({facts}, 'D', 300), IsEmpty()) << "some wait like this all their lives";
}

TEST(vet, only_what_stays_as_it_is_is_stuck) {
    ProcessFacts stuck{
        .pid = 7, .command = "cp", .state = 'D', .age_seconds = 400, .started = 5, .switches = 90};
    auto later = [&](auto change) {
        ProcessFacts now = stuck;
        change(now);
        return still_the_same({stuck}, {now}).size();
    };
    EXPECT_EQ(later([](ProcessFacts& now) { now.age_seconds += 1; }), 1U);
    EXPECT_EQ(later([](ProcessFacts& now) { now.state = 'R'; }), 0U);
    EXPECT_EQ(later([](ProcessFacts& now) { now.switches += 2; }), 0U) << "it ran between the looks";
    EXPECT_EQ(later([](ProcessFacts& now) { now.started += 1; }), 0U) << "another process";
    EXPECT_THAT(still_the_same({stuck}, {}), IsEmpty());
}

TEST(vet, variables) {
    Variables found{{"A", "1"}, {"B", ""}};
    EXPECT_EQ(judge_variables({{"A", "1"}, {"B", std::nullopt}}, found).status, Status::kPass);
    EXPECT_THAT(judge_variables({{"A", "2"}, {"C", std::nullopt}}, found).reason.text(),
                HasSubstr("A is set to something else; C is not set"));
    EXPECT_EQ(judge_variables({}, found).status, Status::kUnsupported) << "nothing was asked";
}

// Results go into records and reports, which hold no values of variables.
TEST(vet, values_of_variables_are_not_told) {
    ASSERT_EQ(setenv("BELAY_VET_TOKEN", "canary-of-the-user", 1), 0);
    for (const char* expected :
         {"BELAY_VET_TOKEN: canary-of-the-protocol", "BELAY_VET_TOKEN: canary-of-the-user",
          "BELAY_VET_NONE: canary-of-the-protocol"}) {
        CheckResult result = only_result(fmt::format("type: env.var, expected: {{{}}}", expected));
        EXPECT_THAT(result.reason.text(), Not(HasSubstr("canary")));
        EXPECT_FALSE(result.value);
        EXPECT_THAT(compact(to_json(result)), Not(HasSubstr("canary")));
    }
    unsetenv("BELAY_VET_TOKEN");
}

// The readers, on a made-up node.
TEST(vet, readers_read_the_node) {
    Node node;
    auto put = [&](const std::string& path, std::string_view text) { node.put(path, text); };
    put("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n");
    put("proc/self/mountinfo", kMounts);
    put("proc/uptime", "500.00 900.00\n");
    put("proc/1/stat", "1 (init) S 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 10 20\n");
    put("proc/12/stat", "12 (nfs) D 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 100 20\n");
    put("sys/devices/system/cpu/online", "0-1\n");
    for (int cpu : {0, 1}) {
        put(fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu),
            cpu == 0 ? "performance\n" : "powersave\n");
        put(fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu), "2000000\n");
    }
    put("log", "6,1,900000,-;NVRM: Xid (PCI:0000:81:00): 79, pid=1\n");
    NodeView view = node.view();
    EXPECT_EQ(only_result("type: mem.free, min: 401KiB", view).status, Status::kFail);
    EXPECT_EQ(only_result("type: mem.free, min: 400KiB", view).status, Status::kPass);
    CheckResult dead = only_result("type: fs.mount, path: /scratch space", view);
    EXPECT_EQ(dead.status, Status::kFail) << "it is in the table, but does not answer";
    EXPECT_THAT(dead.reason.text(), HasSubstr("lustre is mounted on /scratch space, but does not answer"));
    put("scratch space/file", "");
    EXPECT_EQ(only_result("type: fs.mount, path: /scratch space", view).status, Status::kPass);
    EXPECT_EQ(only_result("type: fs.usage, path: /scratch space, crit: null", view).status,
              Status::kUnsupported);
    EXPECT_EQ(only_result("type: proc.dstate, watch: 4ms", view).status, Status::kFail);
    EXPECT_EQ(only_result("type: proc.zombie", view).status, Status::kPass);
    EXPECT_EQ(only_result("type: cpu.count, expected: 2", view).status, Status::kPass);
    EXPECT_EQ(only_result("type: cpu.freq", view).value, 2000.0);
    EXPECT_EQ(only_result("type: cpu.governor", view).device, "cpu1");
    EXPECT_EQ(only_result("type: gpu.xid, source: /log", view).status, Status::kFail);
    EXPECT_EQ(only_result("type: gpu.xid, source: /none", view).status, Status::kError);
    EXPECT_EQ(only_result("type: gpu.xid, source: /log, classes: null", view).status, Status::kUnsupported);
    EXPECT_EQ(only_result("type: gpu.xid, source: /log, window: 1ns", view).status, Status::kUnsupported)
        << "without a driver nobody would have reported one";
    put("proc/driver/nvidia/version", "NVRM version: x\n");
    EXPECT_EQ(only_result("type: gpu.xid, source: /log, window: 1ns", view).status, Status::kPass)
        << "older than the window";
    put("empty", "");
    EXPECT_EQ(only_result("type: host.kmsg, source: /empty, patterns: [a]", view).status, Status::kError);
    EXPECT_EQ(only_result("type: fs.usage, path: /none", view).status, Status::kError);
    NodeView empty{node.path() / "none"};
    EXPECT_EQ(only_result("type: mem.free, min: 1B", empty).status, Status::kError);
    for (const char* check : {"type: cpu.count, min: 1", "type: cpu.freq, min: 1", "type: cpu.governor"}) {
        CheckResult result = only_result(check, empty);
        EXPECT_EQ(result.status, Status::kError) << check;
        ASSERT_NE(result.reason.failure(), nullptr) << check;
        EXPECT_EQ(result.reason.failure()->errno_value(), ENOENT) << check;
    }
}

// Vetting and the recorder once read these files each for itself, and vetting got them wrong.
TEST(vet, files_of_the_kernel_are_read_as_documented) {
    Node node;
    node.put("proc/self/mountinfo",
             "40 22 0:9 / /scratch rw - tmpfs  rw,size=1g\n"  // a source may be empty: proc(5)
             "41 22 0:10 / /home rw - fuse.my\\040fs a rw\n"  // escapes stand in every field
             "42 22 8:9 / /cut ro");                          // a read may end anywhere
    node.put("scratch/file", "");
    node.put("home/file", "");
    EXPECT_EQ(only_result("type: fs.mount, path: /scratch, filesystem: tmpfs", node.view()).status,
              Status::kPass);
    EXPECT_EQ(only_result("type: fs.mount, path: /home, filesystem: fuse.my fs", node.view()).status,
              Status::kPass);
    node.put("proc/meminfo", "MemTotal: 5 kB\nMemTotal: 5 kB\n");  // Linux before 3.14 has no MemAvailable
    EXPECT_EQ(only_result("type: mem.free, min: 1B", node.view()).status, Status::kError);
    node.put("proc/meminfo", "MemTotal: 5000 kB\nMemAvailable: 4");
    EXPECT_EQ(only_result("type: mem.free, min: 1B", node.view()).status, Status::kError) << "cut";
    node.put("sys/devices/system/cpu/online", "0,2\n");
    node.put("proc/cpuinfo", "processor : 0\ncpu MHz : 2000\nprocessor : 2\ncpu MHz : 1000\n");
    EXPECT_EQ(only_result("type: cpu.freq, min: 1500", node.view()).device, "cpu2");
    node.put("proc/uptime", "500.00 900.00\n");
    node.put("proc/1/stat", "1 (init) S 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 10 20");
    node.put("proc/12/stat", "12 (nfs) D 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 10");
    EXPECT_EQ(only_result("type: proc.dstate, watch: 4ms", node.view()).status, Status::kPass)
        << "cut in the start time";
}

TEST(vet, what_proc_hides_is_not_called_healthy) {
    Node node;
    node.put("proc/uptime", "500.00 900.00\n");
    node.put("proc/12/stat", "12 (mine) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 10 20 21 22");
    for (const char* check : {"type: proc.dstate, watch: 4ms", "type: proc.zombie"}) {
        const CheckResult hidden = only_result(check, node.view());
        EXPECT_EQ(hidden.status, Status::kUnsupported) << check;
        EXPECT_THAT(hidden.reason.text(), HasSubstr("hidepid")) << check;
    }
    node.put("proc/1/stat", "1 (init) S 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 10 20 21 22");
    EXPECT_EQ(only_result("type: proc.zombie", node.view()).status, Status::kPass);
}

TEST(vet, writing_is_tried_and_leaves_nothing) {
    auto root = core::TemporaryDirectory::create().value();
    std::string path = root.path();
    EXPECT_EQ(only_result("type: fs.write, path: " + path + ", size: 3MB").status, Status::kPass);
    EXPECT_TRUE(std::filesystem::is_empty(path));
    CheckResult none = only_result("type: fs.write, path: " + path + "/none");
    EXPECT_EQ(none.status, Status::kFail);
    EXPECT_THAT(none.reason.text(), HasSubstr("No such file"));
    EXPECT_EQ(only_result("type: fs.write, path: /dev/full").status, Status::kFail);
}

TEST(vet, where_this_user_may_not_write_is_no_failure_of_the_node) {
    auto root = core::TemporaryDirectory::create().value();
    const std::string directory = root.path() / "closed";
    ASSERT_TRUE(core::make_directories(directory));
    std::filesystem::permissions(directory, std::filesystem::perms::none);
    const uid_t before = geteuid();
    ASSERT_EQ(seteuid(before == 0 ? 65533 : before), 0);  // root may write anywhere
    const CheckResult result = only_result("type: fs.write, path: " + directory);
    ASSERT_EQ(seteuid(before), 0);
    EXPECT_EQ(result.status, Status::kError);
    ASSERT_TRUE(result.reason.failure());
    EXPECT_EQ(result.reason.failure()->cause(), core::Cause::kDenied);
}

TEST(vet, tcp_connections) {
    uint16_t any[] = {0};
    auto listener = transfer::listen_on(any).value();
    std::string check = fmt::format("type: net.tcp, host: 127.0.0.1, port: {}", listener.port);
    EXPECT_EQ(only_result(check).status, Status::kPass);
    listener.socket.reset();
    EXPECT_EQ(only_result(check).status, Status::kFail);
    CheckResult unknown =
        only_result("type: net.tcp, host: a..b, port: 53");  // no name server is asked for it
    EXPECT_EQ(unknown.status, Status::kError) << "nothing was measured";
    ASSERT_NE(unknown.reason.failure(), nullptr);
    EXPECT_THAT(unknown.reason.text(), HasSubstr("a..b:53: the name service"));
}

TEST(vet, rates_without_a_minimum_are_unsupported) {
    CheckResult gemm = only_result("type: cpu.gemm, size: 64, repeats: 1");
    EXPECT_EQ(gemm.status, Status::kUnsupported);
    EXPECT_GT(gemm.value.value_or(0), 0);
    EXPECT_EQ(only_result("type: cpu.gemm, size: 64, repeats: 1, min: 0.000001").status, Status::kPass);
}

TEST(vet, stream_measures_memory_and_no_cache) {
    Node node;
    const std::string one_mib = "type: cpu.stream, size: 1MiB, repeats: 1, min: 900 TB/s";
    EXPECT_EQ(only_result(one_mib, node.view()).status, Status::kFail) << "a node that tells of no caches";
    for (int cpu : kernels::usable_cpus()) node.put_cache(cpu, 0, 3, "256K", "all");
    EXPECT_EQ(only_result(one_mib, node.view()).status, Status::kFail) << "as large as it must be";
    for (int cpu : kernels::usable_cpus()) node.put_cache(cpu, 0, 3, "257K", "all");
    CheckResult cached = only_result(one_mib, node.view());
    EXPECT_EQ(cached.status, Status::kError);
    EXPECT_THAT(cached.reason.text(),
                HasSubstr("1MiB would be measured in the caches: it must be at least 1028KiB"));
    node.put("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n");
    CheckResult large = only_result("type: cpu.stream, size: 2MiB, repeats: 1, min: 1 MB/s", node.view());
    EXPECT_EQ(large.status, Status::kError);
    EXPECT_THAT(large.reason.text(), HasSubstr("of memory that is available"));
}

TEST(vet, what_cannot_be_measured_is_unsupported) {
    CheckResult gpu = only_result("type: gpu.temp", {.nvml_library = "libno-such-nvml.so"});
    EXPECT_EQ(gpu.status, Status::kUnsupported);
    EXPECT_THAT(gpu.reason.text(), HasSubstr("NVML is not there"));
}

// A FIFO that nobody writes to stands for a file server that does not answer.
TEST(vet, check_that_hangs_is_an_error_in_time) {
    auto root = core::TemporaryDirectory::create().value();
    std::filesystem::create_directories(root.path() / "proc");
    ASSERT_EQ(mkfifo((root.path() / "proc/meminfo").c_str(), 0600), 0);
    CheckResult result = only_result("type: mem.free, min: 1B, timeout: 50ms", NodeView{root.path()});
    EXPECT_EQ(result.status, Status::kError);
    EXPECT_THAT(result.reason.text(),
                StartsWith("no result in time: its 50ms have passed: no answer within "));
    EXPECT_THAT(result.reason.text(),
                EndsWith(fmt::format(" (at: open {})", (root.path() / "proc/meminfo").string())));
}

TEST(vet, alone_step_checks_are_unsupported_and_need_stops_early) {
    NodeRunOptions options{.deadline = core::Deadline::after(std::chrono::minutes(1))};
    Protocol protocol =
        protocol_of("- {type: mem.free, min: 900TiB}\n- {type: mem.free, min: 1B}\n- {type: clock.offset}\n");
    Verdicts all = run_alone(protocol, "n1", {}, options);
    ASSERT_EQ(all.nodes[0].checks.size(), 3U) << "without a number of nodes every check is run";
    EXPECT_EQ(all.nodes[0].checks[2].status, Status::kUnsupported);
    EXPECT_EQ(all.exit_status(), 1);
    options.stop_at_first_refusal = true;
    Verdicts early = run_alone(protocol, "n1", 1, options);
    EXPECT_EQ(early.nodes[0].checks.size(), 1U);
    EXPECT_EQ(early.exit_status(), 4);
}

}  // namespace
}  // namespace belay::vet
