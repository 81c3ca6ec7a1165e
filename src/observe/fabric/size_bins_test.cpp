#include "observe/fabric/size_bins.h"

#include "observe/fabric/port.h"
#include "observe/fabric/testing.h"

namespace belay::observe::fabric {
namespace {

using namespace testing;

SizeBinCounts all_bins(int64_t packets) {
    SizeBinCounts counts;
    counts.fill({.is_there = true, .packets = packets});
    return counts;
}

TEST(observe_fabric, bytes_are_at_least_those_of_the_smallest_packet_of_each_bin) {
    SizeBinCounts counts = all_bins(0);
    EXPECT_EQ(traffic_of(counts).packets, 0);
    EXPECT_EQ(traffic_of(counts).bytes_at_least, 0);
    constexpr int64_t kSmallest[] = {27, 35, 36, 64, 65, 128, 256, 512, 1024, 2048, 4096, 8192};
    for (size_t i = 0; i < counts.size(); ++i) {
        counts = all_bins(0);
        counts[i].packets = 1'000'003;
        EXPECT_EQ(traffic_of(counts).packets, 1'000'003);
        EXPECT_EQ(traffic_of(counts).bytes_at_least, 1'000'003 * kSmallest[i]) << kSizeBins[i].name;
    }
    EXPECT_EQ(traffic_of(all_bins(1)).bytes_at_least,
              27 + 35 + 36 + 64 + 65 + 128 + 256 + 512 + 1024 + 2048 + 4096 + 8192);
}

TEST(observe_fabric, a_bin_that_is_not_there_keeps_the_lower_bound) {
    SizeBinCounts counts = all_bins(1);
    counts[0] = {};
    EXPECT_EQ(traffic_of(counts).packets, std::nullopt);
    EXPECT_EQ(traffic_of(counts).bytes_at_least, 16483 - 27);
    EXPECT_EQ(traffic_of({}).bytes_at_least, std::nullopt);
}

TEST(observe_fabric, a_bin_that_is_missed_once_makes_no_step_back) {
    SizeBinCounts counts = all_bins(1);
    counts[3].packets = std::nullopt;
    EXPECT_EQ(traffic_of(counts).packets, std::nullopt);
    EXPECT_EQ(traffic_of(counts).bytes_at_least, std::nullopt);
    counts = all_bins(1);
    counts[11].packets = (int64_t{1} << 56) - 1;  // its bytes are beyond 63 bits
    EXPECT_EQ(traffic_of(counts).packets, (int64_t{1} << 56) + 10);
    EXPECT_EQ(traffic_of(counts).bytes_at_least, std::nullopt);
}

TEST(observe_fabric, bins_are_read_from_their_files) {
    FabricRoot root;
    root.add_cxi("cxi0");
    root.set_telemetry("cxi0", "hni_tx_ok_8192_to_max", 3);
    const core::Descriptor fd = open_port({"cxi0", 1, root.sys() / "class/cxi/cxi0/device"});
    ASSERT_TRUE(fd);
    SizeBins bins("hni_tx_ok_");
    EXPECT_TRUE(bins.read());
    EXPECT_EQ(bins.traffic().packets, std::nullopt) << "before a look";
    bins.look(fd.get());
    EXPECT_TRUE(bins.read());
    EXPECT_EQ(bins.traffic().packets, 14);
    EXPECT_EQ(bins.traffic().bytes_at_least, 16483 + 2 * 8192);
}

}  // namespace
}  // namespace belay::observe::fabric
