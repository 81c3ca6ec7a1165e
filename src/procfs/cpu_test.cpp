#include "procfs/cpu.h"

#include <gtest/gtest.h>

namespace belay::procfs {
namespace {

using Clocks = std::vector<std::pair<int, double>>;

TEST(procfs, lists_of_cpus_are_read) {
    EXPECT_EQ(parse_cpu_list("0-2,8\n"), (std::vector<int>{0, 1, 2, 8}));
    EXPECT_EQ(parse_cpu_list("5\n"), std::vector<int>{5});
    EXPECT_EQ(parse_cpu_list("\n"), std::vector<int>{}) << "as `offline` has it where all are online";
    for (std::string_view wrong : {"", "0-15", "a\n", "3-1\n", "-1\n", "0-\n", "-\n", "1,,2\n", "1,\n", ",\n",
                                   "0-1-2\n", "2,1\n", "0-99999999\n", "0 1\n", "0-1048575,0-1048575\n"})
        EXPECT_FALSE(parse_cpu_list(wrong).has_value()) << wrong;
}

TEST(procfs, sizes_of_caches_are_read) {
    EXPECT_EQ(parse_cache_size("32768K\n"), 32768 * 1024);
    EXPECT_EQ(parse_cache_size("8M\n"), 8 << 20);
    EXPECT_EQ(parse_cache_size("512\n"), 512);
    for (std::string_view wrong : {"", "32768K", "K\n", "-1K\n", "1G\n", "9223372036854775807M\n"})
        EXPECT_FALSE(parse_cache_size(wrong).has_value()) << wrong;
}

TEST(procfs, clocks_belong_to_the_processor_above_them) {
    EXPECT_EQ(parse_cpuinfo_clocks("processor : 0\ncpu MHz\t\t: 2100.5\nflags: x\n"), (Clocks{{0, 2100.5}}));
    EXPECT_EQ(parse_cpuinfo_clocks("processor\t: 0\ncpu MHz\t: 2000\n\nprocessor\t: 2\ncpu MHz\t: 1000\n"),
              (Clocks{{0, 2000}, {2, 1000}}))
        << "1 is offline";
    EXPECT_EQ(parse_cpuinfo_clocks("cpu MHz : 2000\ncpu MHz : nan\ncpu MHz : 1000\n"),
              (Clocks{{0, 2000}, {2, 1000}}));
    EXPECT_EQ(parse_cpuinfo_clocks("processor : 0\ncpu MHz : 2000"), Clocks{}) << "cut";
    EXPECT_EQ(parse_cpuinfo_clocks("processor : 0\nBogoMIPS : 2000\n"), Clocks{}) << "aarch64";
}

}  // namespace
}  // namespace belay::procfs
