#include "procfs/mountinfo.h"

#include <gtest/gtest.h>

namespace belay::procfs {
namespace {

TEST(procfs, octal_escapes_are_undone) {
    EXPECT_EQ(unescape_octal(R"(/a\040b\011c\012d\134e\043)"), "/a b\tc\nd\\e#");
    EXPECT_EQ(unescape_octal(R"(\377)"), "\xFF");
    EXPECT_EQ(unescape_octal(R"(a\b\04\400\049\)"), R"(a\b\04\400\049\)");
}

TEST(procfs, mounts_are_read) {
    std::vector<Mount> mounts = parse_mountinfo(
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
        "30 27 0:50 /sub /home\\040of\\134us ro,nosuid shared:5 master:2 - nfs4 server:/export rw,vers=4.2\n"
        "31 27 0:51 / /data rw,relatime - xfs /dev/sdb ro\n"
        "32 27 0:52 / /empty rw - tmpfs  rw,size=1g\n"
        "33 27 0:53 / /cut rw - ext4 /dev/sdc rw");
    ASSERT_EQ(mounts.size(), 4u);
    EXPECT_EQ(mounts[0].mount_point, "/");
    EXPECT_EQ(mounts[0].device, "254:0");
    EXPECT_EQ(mounts[0].type, "ext4");
    EXPECT_EQ(mounts[0].source, "/dev/vda");
    EXPECT_FALSE(mounts[0].read_only);
    EXPECT_EQ(mounts[1].root, "/sub");
    EXPECT_EQ(mounts[1].mount_point, "/home of\\us");
    EXPECT_EQ(mounts[1].source, "server:/export");
    EXPECT_TRUE(mounts[1].read_only);  // this mount
    EXPECT_TRUE(mounts[2].read_only);  // the whole file system
    EXPECT_EQ(mounts[3].source, "");
    EXPECT_FALSE(mounts[3].read_only);
}

TEST(procfs, lines_that_are_no_mounts_are_passed_over) {
    EXPECT_TRUE(
        parse_mountinfo("\n \n1\n1 2 3:4 /\n1 2 3:4 / relative rw - ext4 x rw\n1 2 3:4 / / rw shared:1\n")
            .empty());
}

TEST(procfs, the_last_mount_at_a_place_is_seen_there) {
    auto mounts = parse_mountinfo(
        "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /dev rw - tmpfs a rw\n"
        "3 1 0:6 / /dev rw - devtmpfs b rw\n4 1 0:7 / /dev/shm rw - tmpfs c rw\n");
    ASSERT_NE(mounted_on(mounts, "/dev"), nullptr);
    EXPECT_EQ(mounted_on(mounts, "/dev")->type, "devtmpfs");
    EXPECT_EQ(mounted_on(mounts, "/dev/"), mounted_on(mounts, "/dev"));
    EXPECT_EQ(mounted_on(mounts, "/"), &mounts[0]);
    EXPECT_EQ(mounted_on(mounts, "/dev/sh"), nullptr);
    EXPECT_EQ(mounted_on({}, "/"), nullptr);
}

}  // namespace
}  // namespace belay::procfs
