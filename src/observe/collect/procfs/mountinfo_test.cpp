#include "observe/collect/procfs/mountinfo.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::observe::collect::procfs {
namespace {

std::vector<std::string> watched(std::string_view text, size_t limit = 64) {
    std::vector<std::string> places;
    for (const Mount& mount : mounts_to_watch(parse_mountinfo(text), limit))
        places.push_back(mount.mount_point);
    return places;
}

TEST(observe_procfs, octal_escapes_are_undone) {
    EXPECT_EQ(unescape_octal(R"(/a\040b\011c\012d\134e\043)"), "/a b\tc\nd\\e#");
    EXPECT_EQ(unescape_octal(R"(\377)"), "\xFF");
    EXPECT_EQ(unescape_octal(R"(a\b\04\400\049\)"), R"(a\b\04\400\049\)");
}

TEST(observe_procfs, mounts_are_read) {
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
    EXPECT_EQ(mounts[1].mount_point, "/home of\\us");
    EXPECT_EQ(mounts[1].source, "server:/export");
    EXPECT_TRUE(mounts[1].read_only);  // this mount
    EXPECT_TRUE(mounts[2].read_only);  // the whole file system
    EXPECT_EQ(mounts[3].source, "");
    EXPECT_FALSE(mounts[3].read_only);
}

TEST(observe_procfs, lines_that_are_no_mounts_are_passed_over) {
    EXPECT_TRUE(
        parse_mountinfo("\n \n1\n1 2 3:4 /\n1 2 3:4 / relative rw - ext4 x rw\n1 2 3:4 / / rw shared:1\n")
            .empty());
}

TEST(observe_procfs, pseudo_file_systems_are_not_watched) {
    EXPECT_EQ(watched("1 1 0:1 / / rw - overlay overlay rw\n2 1 0:2 / /proc rw - proc proc rw\n3 1 0:3 / "
                      "/sys rw - sysfs sysfs rw\n"
                      "4 1 0:4 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n5 1 0:5 / /dev rw - devtmpfs d rw\n"
                      "6 1 0:6 / /net rw - autofs systemd-1 rw\n7 1 0:7 / /dev/shm rw - tmpfs tmpfs rw\n"
                      "8 1 0:8 / /system rw - ext4 /dev/sdb rw\n"),
              (std::vector<std::string>{"/", "/dev/shm", "/system"}));
}

TEST(observe_procfs, a_file_system_is_watched_once) {
    EXPECT_EQ(
        watched(
            "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:1 /srv /srv rw - ext4 /dev/sda1 rw\n"  // a bind mount
            "3 1 0:30 / /home rw - nfs4 filer:/home rw\n4 1 0:31 / /users rw - nfs4 filer:/home rw,noac\n"
            "5 1 0:32 / /tmp rw - tmpfs tmpfs rw\n6 1 0:33 / /run rw - tmpfs tmpfs rw\n"),  // two of them
        (std::vector<std::string>{"/", "/home", "/tmp", "/run"}));
}

TEST(observe_procfs, what_another_mount_hides_is_not_watched) {
    EXPECT_EQ(watched("1 1 8:1 / /mnt rw - ext4 /dev/sda1 rw\n2 1 0:9 / /mnt rw - tmpfs tmpfs rw\n"
                      "3 1 0:8 / /dev/shm rw - tmpfs tmpfs rw\n4 1 0:7 / /dev/shm rw - proc proc rw\n"),
              std::vector<std::string>{"/mnt"});
    EXPECT_EQ(
        mounts_to_watch(
            parse_mountinfo("1 1 8:1 / /mnt rw - ext4 /dev/sda1 rw\n2 1 0:9 / /mnt rw - tmpfs tmpfs rw\n"), 9)
            .at(0)
            .type,
        "tmpfs");
}

TEST(observe_procfs, mounts_are_bounded) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += fmt::format("{0} 1 8:{0} / /m{0} rw - ext4 /dev/d{0} rw\n", i);
    EXPECT_EQ(watched(text).size(), 64u);
    EXPECT_EQ(watched(text, 2), (std::vector<std::string>{"/m0", "/m1"}));
}

}  // namespace
}  // namespace belay::observe::collect::procfs
