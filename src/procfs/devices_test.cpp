#include "procfs/diskstats.h"
#include "procfs/net_dev.h"

#include <gtest/gtest.h>

namespace belay::procfs {
namespace {

// Names in the results point into the text, so it must not be a temporary.
std::vector<NetworkDevice> devices_in(std::string_view text) {
    std::vector<NetworkDevice> devices;
    parse_net_dev(text, devices);
    return devices;
}

std::vector<Disk> disks_in(std::string_view text) {
    std::vector<Disk> disks;
    parse_diskstats(text, disks);
    return disks;
}

constexpr std::string_view kNetHeader =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls "
    "carrier "
    "compressed\n";

TEST(procfs, network_devices_are_read) {
    std::string text = std::string(kNetHeader) +
                       "    lo:  10  11 12 13 14 15 16 17  20 21 22 23 24 25 26 27\n"
                       "eth0:1:98765432109876 1 2 3 0 0 0 0 5 6 7 8 0 0 0 0\n";
    std::vector<NetworkDevice> devices = devices_in(text);
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_EQ(devices[0].name, "lo");
    EXPECT_EQ(devices[0].fields[0], 10);
    EXPECT_EQ(devices[0].fields[1], 11);
    EXPECT_EQ(devices[0].fields[2], 12);
    EXPECT_EQ(devices[0].fields[3], 13);
    EXPECT_EQ(devices[0].fields[8], 20);
    EXPECT_EQ(devices[0].fields[9], 21);
    EXPECT_EQ(devices[0].fields[10], 22);
    EXPECT_EQ(devices[0].fields[11], 23);
    EXPECT_EQ(devices[1].name, "eth0:1");
    EXPECT_EQ(devices[1].fields[0], 98765432109876);
    EXPECT_EQ(devices[1].fields[11], 8);
}

TEST(procfs, network_devices_with_missing_counts_keep_the_rest) {
    std::vector<NetworkDevice> devices = devices_in("eth0: 1 2\n: 5\neth1: 1 2 3 4 5 6 7 8 9 10 11 12");
    ASSERT_EQ(devices.size(), 1u);  // a line without name, and one without end
    EXPECT_EQ(devices[0].fields[1], 2);
    EXPECT_FALSE(devices[0].fields[2].has_value());
    EXPECT_FALSE(devices[0].fields[8].has_value());
}

TEST(procfs, disks_are_read) {
    std::vector<Disk> disks = disks_in(
        " 254       0 vda 81881 27622 6111314 27570 36889 32336 4388480 12042 7 16528 40611 12862 57 525896 "
        "789 1 2\n");
    ASSERT_EQ(disks.size(), 1u);
    EXPECT_EQ(disks[0].name, "vda");
    EXPECT_EQ(disks[0].fields[0], 81881);
    EXPECT_EQ(disks[0].fields[2], 6111314);
    EXPECT_EQ(disks[0].fields[3], 27570);
    EXPECT_EQ(disks[0].fields[4], 36889);
    EXPECT_EQ(disks[0].fields[6], 4388480);
    EXPECT_EQ(disks[0].fields[7], 12042);
    EXPECT_EQ(disks[0].fields[8], 7);
    EXPECT_EQ(disks[0].fields[9], 16528);
}

TEST(procfs, partitions_and_idle_loop_devices_are_left_out) {
    std::vector<Disk> disks = disks_in(
        "7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n7 1 loop1 5 0 8 0 0 0 0 0 0 0 0\n253 0 zram0 0 0 0 0 0 0 0 0 0 0 "
        "0\n"
        "8 0 sda 0 0 0 0 0 0 0 0 0 0 0\n8 1 sda1 1 0 8 0 0 0 0 0 0 0 0\n8 16 sdaa 1 0 8 0 0 0 0 0 0 0 0\n"
        "259 0 nvme0n1 1 0 8 0 0 0 0 0 0 0 0\n259 1 nvme0n1p1 1 0 8 0 0 0 0 0 0 0 0\n"
        "259 2 nvme0n1p12 1 0 8 0 0 0 0 0 0 0 0\n259 3 nvme0n10 1 0 8 0 0 0 0 0 0 0 0\n");
    std::vector<std::string_view> names;
    for (const Disk& disk : disks) names.push_back(disk.name);
    EXPECT_EQ(names, (std::vector<std::string_view>{"loop1", "sda", "sdaa", "nvme0n1", "nvme0n10"}));
}

TEST(procfs, partitions_are_known_by_their_name) {
    EXPECT_TRUE(is_partition_of("sda1", "sda"));
    EXPECT_TRUE(is_partition_of("nvme0n1p3", "nvme0n1"));
    EXPECT_TRUE(is_partition_of("mmcblk0p1", "mmcblk0"));
    EXPECT_FALSE(is_partition_of("sda", "sda"));
    EXPECT_FALSE(is_partition_of("sdaa", "sda"));
    EXPECT_FALSE(is_partition_of("nvme0n12", "nvme0n1"));
    EXPECT_FALSE(is_partition_of("nvme0n1p", "nvme0n1"));
    EXPECT_FALSE(is_partition_of("mmcblk0boot0", "mmcblk0"));
    EXPECT_FALSE(is_partition_of("sda1", ""));
}

TEST(procfs, disks_with_missing_counts_keep_the_rest) {
    std::vector<Disk> disks = disks_in("8 0 sda 5 0\n8\n8 16 sdb 1 2 3");
    ASSERT_EQ(disks.size(), 1u);
    EXPECT_EQ(disks[0].fields[0], 5);
    EXPECT_FALSE(disks[0].fields[2].has_value());
    EXPECT_FALSE(disks[0].fields[9].has_value());
}

}  // namespace
}  // namespace belay::procfs
