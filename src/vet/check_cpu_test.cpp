#include "vet/check_facts.h"
#include "vet/check_testing.h"

#include <cerrno>
#include <filesystem>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::vet {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(vet, last_caches_are_each_counted_once) {
    Node node;
    for (int cpu : {0, 1, 2, 3}) {
        node.put_cache(cpu, 0, 1, "32K", fmt::format("{}", cpu), "Data");
        node.put_cache(cpu, 1, 2, "1M", fmt::format("{}", cpu));
        node.put_cache(cpu, 2, 3, "32768K", cpu < 2 ? "0-1" : "2-3");
        node.put_cache(cpu, 3, 4, "8M", "0-3", "Instruction");
    }
    constexpr uint64_t kMiB = uint64_t{1} << 20;
    auto bytes = [&](std::vector<int> cpus) { return last_cache_bytes(node.view(), cpus); };
    EXPECT_EQ(bytes({0, 1, 2, 3}), 64 * kMiB);
    EXPECT_EQ(bytes({0, 1}), 32 * kMiB) << "of the CPUs used only";
    EXPECT_EQ(bytes({7}), std::nullopt);
    EXPECT_EQ(default_array_bytes({}), 64 * kMiB);
    EXPECT_EQ(default_array_bytes(2 * kMiB), 64 * kMiB);
    EXPECT_EQ(default_array_bytes(64 * kMiB), 256 * kMiB);
}

TEST(vet, cpus_that_cannot_be_read_do_not_pass) {
    Node node;
    auto put = [&](int cpu, std::string_view file, std::string_view text) {
        node.put(fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/{}", cpu, file), text);
    };
    node.put("sys/devices/system/cpu/online", "0-2\n");
    for (int cpu : {0, 1}) {
        put(cpu, "scaling_governor", "performance\n");
        put(cpu, "scaling_cur_freq", "2000000\n");
    }
    const std::string governor = "type: cpu.governor, expected: performance",
                      frequency = "type: cpu.freq, min: 1900";
    for (const std::string& check : {governor, frequency}) {
        CheckResult result = only_result(check, node.view());
        EXPECT_EQ(result.status, Status::kError) << check;
        EXPECT_THAT(result.reason.text(), HasSubstr("2 of 3 CPUs could be read"));
    }
    EXPECT_EQ(only_result("type: cpu.freq, min: 2001", node.view()).status, Status::kFail)
        << "it is too slow";
    EXPECT_EQ(only_result("type: cpu.governor, expected: powersave", node.view()).status, Status::kFail);
    put(2, "scaling_governor", "performance\n");
    put(2, "scaling_cur_freq", "2000000\n");
    for (const std::string& check : {governor, frequency})
        EXPECT_EQ(only_result(check, node.view()).status, Status::kPass) << check;
    // A link that leads to itself is there, and cannot be read.
    for (const char* file : {"scaling_governor", "scaling_cur_freq"}) {
        const auto path = node.path() / "sys/devices/system/cpu/cpu2/cpufreq" / file;
        std::filesystem::remove(path);
        std::filesystem::create_symlink(file, path);
    }
    for (const char* online : {"0-2\n", "2\n"}) {
        node.put("sys/devices/system/cpu/online", online);
        for (const std::string& check : {governor, frequency})
            EXPECT_EQ(only_result(check, node.view()).reason.failure()->errno_value(), ELOOP) << check;
    }
    node.put("sys/devices/system/cpu/online", "nonsense\n");
    for (const std::string& check : {governor, frequency})
        EXPECT_THAT(only_result(check, node.view()).reason.text(), HasSubstr("not a list of CPUs")) << check;
    Node other;  // whose clocks stand in /proc/cpuinfo only
    other.put("sys/devices/system/cpu/online", "0-2\n");
    other.put("proc/cpuinfo", "cpu MHz : 2000\ncpu MHz : 2000\n");
    EXPECT_EQ(only_result(frequency, other.view()).status, Status::kError);
    other.put("proc/cpuinfo", "cpu MHz : 2000\ncpu MHz : 2000\ncpu MHz : 2000\n");
    EXPECT_EQ(only_result(frequency, other.view()).status, Status::kPass);
}

}  // namespace
}  // namespace belay::vet
