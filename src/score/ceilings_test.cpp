#include "score/ceilings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::score {
namespace {

using ::testing::HasSubstr;

TEST(score, every_ceiling_has_date_and_provenance) {
    ASSERT_FALSE(builtin_ceilings().empty());
    for (const DeviceCeilings& device : builtin_ceilings()) {
        EXPECT_FALSE(device.date.empty()) << device.match;
        EXPECT_FALSE(device.source.empty()) << device.match;
        EXPECT_GT(device.ceilings.clock_hertz, 1e9) << device.match;
        EXPECT_GT(device.peak[static_cast<size_t>(Limit::kDram)], 5e11) << device.match;
    }
}

TEST(score, the_longest_match_is_the_device) {
    auto match = [](const char* name) { return find_ceilings(builtin_ceilings(), name).match; };
    EXPECT_EQ(match("NVIDIA GH200 120GB"), "GH200");
    EXPECT_EQ(match("NVIDIA H200"), "H200");
    EXPECT_EQ(match("NVIDIA H100 80GB HBM3"), "H100 80GB HBM3");
    DeviceCeilings unknown = find_ceilings(builtin_ceilings(), "Tegra K1");
    EXPECT_EQ(unknown.match, "");
    EXPECT_FALSE(unknown.calibrated);
    EXPECT_EQ(unknown.ceilings.clock_hertz, 0);
    const DeviceCeilings slice = find_ceilings(builtin_ceilings(), "NVIDIA H200", "1g.18gb");
    EXPECT_EQ(slice.match, "H200");
    EXPECT_FALSE(slice.calibrated) << "it was measured on another device";
}

TEST(score, what_a_site_adds_wins) {
    auto own = parse_ceilings(
        "[[device]]\nmatch='H200'\ncalibrated=true\ndate='2026-01-01'\nclock_mhz=1700\ntensor=0.9\n",
        "own.toml");
    ASSERT_TRUE(own) << own.error().render();
    auto known = builtin_ceilings();
    known.insert(known.end(), own->begin(), own->end());
    DeviceCeilings found = find_ceilings(known, "NVIDIA H200");
    EXPECT_TRUE(found.calibrated);
    EXPECT_EQ(found.ceilings.active[0], 0.9);
    EXPECT_EQ(found.ceilings.clock_hertz, 1.7e9);
}

std::string refused(const std::string& entry) {
    auto parsed = parse_ceilings("[[device]]\nmatch = 'X'\n" + entry, "c.toml");
    return parsed ? "" : parsed.error().render();
}

TEST(score, wrong_ceilings_say_where) {
    EXPECT_THAT(refused("tensor = 1.5"), HasSubstr("c.toml:3:10: must be more than 0 and at most 1"));
    EXPECT_THAT(refused("tensor = 0"), HasSubstr("more than 0"));
    EXPECT_THAT(refused("tensor = 'a'"), HasSubstr("must be a number of at least 0"));
    EXPECT_THAT(refused("clock_mhz = nan"), HasSubstr("must be a number of at least 0"));
    EXPECT_THAT(refused("tensr = 1"), HasSubstr("c.toml:3:1: unknown key \"tensr\""));
    EXPECT_THAT(refused("peak_tflops = {dram = 1}"), HasSubstr("unknown key \"dram\""));
    EXPECT_THAT(refused("calibrated = true"), HasSubstr("needs date and clock_mhz"));
    EXPECT_THAT(refused("calibrated = 1"), HasSubstr("must be true or false"));
    EXPECT_THAT(refused("match2 = 1"), HasSubstr("unknown key"));
    EXPECT_FALSE(parse_ceilings("x = 1", "c.toml"));
    EXPECT_FALSE(parse_ceilings("device = [1]", "c.toml"));
    EXPECT_FALSE(parse_ceilings("[[device]]", "c.toml"));
    EXPECT_FALSE(parse_ceilings("[[device", "c.toml"));
    EXPECT_TRUE(parse_ceilings("", "c.toml"));
}

}  // namespace
}  // namespace belay::score
