#include "observe/hardware/numa.h"

#include "observe/hardware/gpu_memory.h"
#include "observe/hardware/numa_text.h"
#include "observe/hardware/testing.h"
#include "schema/tables/numa.h"

#include <chrono>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::observe::hardware {
namespace {

using namespace testing;
using namespace std::chrono_literals;

constexpr int kManyTicks = 60'000;

// As drivers/base/node.c of Linux 6.5 prints it, in part.
std::string node_meminfo(int node, int64_t total_kib) {
    std::string text;
    for (const auto& [key, value] :
         std::vector<std::pair<std::string_view, int64_t>>{{"MemTotal:       ", total_kib},
                                                           {"MemFree:        ", total_kib / 2},
                                                           {"MemUsed:        ", total_kib / 2},
                                                           {"SwapCached:     ", 0},
                                                           {"Active:         ", 11},
                                                           {"Active(anon):   ", 12},
                                                           {"Dirty:          ", 20},
                                                           {"FilePages:      ", 4096},
                                                           {"AnonPages:      ", 8192},
                                                           {"Shmem:          ", 64},
                                                           {"Slab:           ", 512},
                                                           {"AnonHugePages:  ", 2048}})
        text += fmt::format("Node {} {}{:8} kB\n", node, key, value);
    return text +
           fmt::format("Node {} HugePages_Total: {:5}\nNode {} HugePages_Free:  {:5}\n", node, 4, node, 1);
}

void write_node(const FakeHardware& node, int number, int64_t total_kib, const std::string& cpus) {
    const std::string directory = fmt::format("sys/devices/system/node/node{}/", number);
    node.write(directory + "meminfo", node_meminfo(number, total_kib));
    node.write(directory + "cpulist", cpus + "\n");
    node.write(directory + "numastat",
               "numa_hit 1234567890123\nnuma_miss 12\nnuma_foreign 13\ninterleave_hit 14\nlocal_node 15\n"
               "other_node 16\n");
    if (total_kib == 0) return;
    for (const auto& [size, total, free] : {std::tuple("2048", "4", "1"), std::tuple("1048576", "2", "2")}) {
        const std::string pages = directory + "hugepages/hugepages-" + size + "kB/";
        node.write(pages + "nr_hugepages", std::string(total) + "\n");
        node.write(pages + "free_hugepages", std::string(free) + "\n");
        node.write(pages + "surplus_hugepages", "0\n");
    }
}

TEST(observe_hardware, lines_of_a_numa_node_become_those_of_meminfo) {
    std::string lines = "old";
    without_node(
        "Node 0 MemTotal:  12 kB\nNode 12 Active(anon): 3 kB\nMemFree: 1 kB\nNode x A: 1\nNode 0 Cut: 12",
        lines);
    EXPECT_EQ(lines, " MemTotal:  12 kB\n Active(anon): 3 kB\n");
    without_node("", lines);
    EXPECT_EQ(lines, "");
}

TEST(observe_hardware, a_folder_of_huge_pages_says_their_size) {
    EXPECT_EQ(parse_huge_page_name("hugepages-2048kB"), 2'097'152);
    EXPECT_EQ(parse_huge_page_name("hugepages-64kB"), 65'536);
    for (const char* wrong :
         {"hugepages-kB", "hugepages-", "hugepages-2048", "2048kB", "hugepages-9223372036854775807kB", ""})
        EXPECT_EQ(parse_huge_page_name(wrong), std::nullopt) << wrong;
}

// kernel-open/nvidia/nv-procfs.c of the driver 535.
TEST(observe_hardware, the_driver_says_which_node_is_the_memory_of_a_gpu) {
    EXPECT_EQ(parse_numa_status(
                  "Node:      4\nStatus:    online\nAddress:   420000000000\nSize:      1800000000\n"),
              4);
    for (const char* none :
         {"", "Node:      4", "Node:      -1\nStatus:    disabled\n", "Status:    online\n"})
        EXPECT_EQ(parse_numa_status(none), std::nullopt) << none;
    const std::vector<GpuNode> nodes = {{4, "0009:01:00.0"}, {12, "0019:01:00.0"}};
    EXPECT_EQ(parse_gpu_nodes(format_gpu_nodes(nodes)), nodes);
    EXPECT_TRUE(parse_gpu_nodes("4\nx 0009:01:00.0\n-1 a\n4 a b\n4 0009").empty());
}

TEST(observe_hardware, numa_has_a_row_for_each_node_with_cpus_or_memory) {
    FakeHardware node;
    write_node(node, 10, 0, "");
    write_node(node, 2, 1000, "");
    write_node(node, 0, 131'586'464, "0-71");
    write_node(node, 1, 0, "72-143");
    node.write("sys/devices/system/node/has_cpu", "0-1\n");
    auto numa = make_numa_collector(node.options);
    EXPECT_FALSE(numa->is_expected());
    const stream::Batch rows = node.sample(*numa);
    EXPECT_TRUE(numa->is_expected());
    ASSERT_EQ(rows.rows(), 3U) << "none of one that is empty";
    EXPECT_EQ(integer(rows, 0, "numa_node"), 0);
    EXPECT_EQ(integer(rows, 0, "has_cpus"), 1);
    EXPECT_EQ(text(rows, 0, "memory_of"), "cpu");
    EXPECT_EQ(integer(rows, 0, "memory_total_bytes"), INT64_C(131'586'464) * 1024);
    EXPECT_EQ(integer(rows, 0, "memory_free_bytes"), INT64_C(65'793'232) * 1024);
    EXPECT_EQ(integer(rows, 0, "memory_file_bytes"), 4096 * 1024);
    EXPECT_EQ(integer(rows, 0, "memory_anonymous_bytes"), 8192 * 1024);
    EXPECT_EQ(integer(rows, 0, "memory_shared_bytes"), 64 * 1024);
    EXPECT_EQ(integer(rows, 0, "memory_slab_bytes"), 512 * 1024);
    EXPECT_EQ(integer(rows, 0, "memory_dirty_bytes"), 20 * 1024);
    EXPECT_EQ(integer(rows, 0, "transparent_huge_bytes"), 2048 * 1024);
    EXPECT_EQ(integer(rows, 0, "huge_pages_total_bytes"), (INT64_C(4) << 21) + (INT64_C(2) << 30));
    EXPECT_EQ(integer(rows, 0, "huge_pages_free_bytes"), (INT64_C(1) << 21) + (INT64_C(2) << 30));
    EXPECT_EQ(integer(rows, 0, "numa_hit_total"), 1234567890123);
    EXPECT_EQ(integer(rows, 0, "numa_miss_total"), 12);
    EXPECT_EQ(integer(rows, 0, "numa_foreign_total"), 13);
    EXPECT_EQ(integer(rows, 0, "local_node_total"), 15);
    EXPECT_EQ(integer(rows, 0, "other_node_total"), 16);
    EXPECT_EQ(integer(rows, 1, "memory_total_bytes"), 0);
    EXPECT_TRUE(is_null(rows, 1, "huge_pages_total_bytes"));
    EXPECT_EQ(integer(rows, 2, "has_cpus"), 0);
    EXPECT_TRUE(is_null(rows, 2, "memory_of")) << "nobody says whose it is";
}

TEST(observe_hardware, memory_of_a_gpu_is_known_once_its_driver_has_said_so) {
    FakeHardware node;
    write_node(node, 0, 1000, "0-71");
    write_node(node, 4, 2000, "");
    write_node(node, 5, 0, "");
    node.write("proc/driver/nvidia/gpus/0009:01:00.0/numa_status", "Node:      4\nStatus:    online\n");
    node.write("proc/driver/nvidia/gpus/0019:01:00.0/information", "Model: 	 H100\n");
    auto numa = make_numa_collector(node.options);
    stream::Batch rows = node.sample(*numa);
    for (int i = 0; i < kManyTicks && is_null(rows, 1, "memory_of"); ++i) {
        usleep(1000);
        rows = node.sample(*numa);
    }
    ASSERT_EQ(rows.rows(), 2U);
    EXPECT_EQ(integer(rows, 1, "numa_node"), 4);
    EXPECT_EQ(text(rows, 1, "memory_of"), "gpu");
    EXPECT_EQ(text(rows, 1, "gpu_address"), "0009:01:00.0");
    EXPECT_EQ(text(rows, 0, "memory_of"), "cpu");
    EXPECT_TRUE(is_null(rows, 0, "gpu_address"));
    EXPECT_TRUE(node.events.empty());
}

TEST(observe_hardware, a_driver_is_not_asked_for_ever) {
    FakeHardware node;
    node.write("proc/driver/nvidia/gpus/0009:01:00.0/numa_status", "Node:      -1\n");
    GpuMemory memory(node.root.proc(), 60s);
    int asked = 0;
    for (int i = 0; i < 20; ++i) {
        memory.ask();
        asked += memory.is_awaited() ? 1 : 0;
        while (memory.is_awaited()) {
            EXPECT_TRUE(memory.take());
            usleep(1000);
        }
    }
    EXPECT_EQ(asked, 10);
    GpuMemory none(node.root.sys(), 60s);
    none.ask();
    EXPECT_FALSE(none.is_awaited()) << "no driver, no child";
}

TEST(observe_hardware, a_driver_that_does_not_answer_is_given_up) {
    FakeHardware node;
    node.write("proc/driver/nvidia/gpus/0009:01:00.0/numa_status", "Node:      4\n");
    GpuMemory memory(node.root.proc(), core::Duration::zero());
    memory.ask();
    ASSERT_TRUE(memory.is_awaited());
    // The child may have answered by now, or not.
    const auto taken = memory.take();
    EXPECT_FALSE(memory.is_awaited());
    if (!taken) {
        EXPECT_EQ(taken.error().cause(), core::Cause::kTimedOut);
        memory.ask();
        EXPECT_FALSE(memory.is_awaited()) << "nor asked again";
    }
}

TEST(observe_hardware, what_costs_much_is_read_seldom) {
    FakeHardware node;
    node.options.slow_every = 2;
    node.options.look_every = 4;
    write_node(node, 0, 1000, "0");
    auto numa = make_numa_collector(node.options);
    EXPECT_EQ(integer(node.sample(*numa), 0, "numa_miss_total"), 12);
    node.write("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "3\n");
    node.write("sys/devices/system/node/node0/meminfo", node_meminfo(0, 2000));
    stream::Batch rows = node.sample(*numa);
    EXPECT_TRUE(is_null(rows, 0, "numa_miss_total"));
    EXPECT_EQ(integer(rows, 0, "huge_pages_free_bytes"), (INT64_C(1) << 21) + (INT64_C(2) << 30));
    EXPECT_EQ(integer(rows, 0, "memory_total_bytes"), 2000 * 1024) << "at each tick";
    rows = node.sample(*numa);
    EXPECT_EQ(integer(rows, 0, "numa_miss_total"), 12);
    EXPECT_EQ(integer(rows, 0, "huge_pages_free_bytes"), (INT64_C(3) << 21) + (INT64_C(2) << 30));
}

// Linux 3.10 has no AnonHugePages where the kernel was built without them, and a text may be damaged.
TEST(observe_hardware, what_a_node_does_not_tell_is_null) {
    FakeHardware node;
    node.write("sys/devices/system/node/node0/meminfo",
               "Node 0 MemTotal: 99999999999999999999 kB\nNode 0 MemFree: -3 kB\nNode 0 Dirty: 5 MB\n"
               "Node 0 Slab: 7 kB\nNode 0 Shmem: 1");
    node.write("sys/devices/system/node/node0/cpulist", "0-x\n");
    node.write("sys/devices/system/node/node0/numastat", "numa_hit 18446744073709551616\nnuma_miss five\n");
    node.write("sys/devices/system/node/node1/cpulist", "1\n");
    auto numa = make_numa_collector(node.options);
    const stream::Batch rows = node.sample(*numa);
    ASSERT_EQ(rows.rows(), 1U) << "none of one without meminfo";
    for (const char* name : {"memory_total_bytes", "memory_free_bytes", "memory_dirty_bytes",
                             "memory_shared_bytes", "transparent_huge_bytes", "huge_pages_total_bytes",
                             "numa_hit_total", "numa_miss_total", "has_cpus", "memory_of"})
        EXPECT_TRUE(is_null(rows, 0, name)) << name;
    EXPECT_EQ(integer(rows, 0, "memory_slab_bytes"), 7 * 1024);
    node.root.remove("sys/devices/system/node");
    EXPECT_EQ(node.sample(*numa).rows(), 0U);
    EXPECT_FALSE(numa->is_expected());
}

}  // namespace
}  // namespace belay::observe::hardware
