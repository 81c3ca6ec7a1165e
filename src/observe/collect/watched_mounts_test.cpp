#include "observe/collect/watched_mounts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::observe::collect {
namespace {

std::vector<std::string> watched(std::string_view text, size_t limit = 64) {
    std::vector<std::string> places;
    for (const procfs::Mount& mount : mounts_to_watch(procfs::parse_mountinfo(text), limit))
        places.push_back(mount.mount_point);
    return places;
}

TEST(observe_collect, pseudo_file_systems_are_not_watched) {
    EXPECT_EQ(watched("1 1 0:1 / / rw - overlay overlay rw\n2 1 0:2 / /proc rw - proc proc rw\n3 1 0:3 / "
                      "/sys rw - sysfs sysfs rw\n"
                      "4 1 0:4 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n5 1 0:5 / /dev rw - devtmpfs d rw\n"
                      "6 1 0:6 / /net rw - autofs systemd-1 rw\n7 1 0:7 / /dev/shm rw - tmpfs tmpfs rw\n"
                      "8 1 0:8 / /system rw - ext4 /dev/sdb rw\n"),
              (std::vector<std::string>{"/", "/dev/shm", "/system"}));
}

TEST(observe_collect, a_file_system_is_watched_once) {
    EXPECT_EQ(
        watched(
            "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:1 /srv /srv rw - ext4 /dev/sda1 rw\n"  // a bind mount
            "3 1 0:30 / /home rw - nfs4 filer:/home rw\n4 1 0:31 / /users rw - nfs4 filer:/home rw,noac\n"
            "5 1 0:32 / /tmp rw - tmpfs tmpfs rw\n6 1 0:33 / /run rw - tmpfs tmpfs rw\n"),  // two of them
        (std::vector<std::string>{"/", "/home", "/tmp", "/run"}));
}

TEST(observe_collect, what_another_mount_hides_is_not_watched) {
    EXPECT_EQ(watched("1 1 8:1 / /mnt rw - ext4 /dev/sda1 rw\n2 1 0:9 / /mnt rw - tmpfs tmpfs rw\n"
                      "3 1 0:8 / /dev/shm rw - tmpfs tmpfs rw\n4 1 0:7 / /dev/shm rw - proc proc rw\n"),
              std::vector<std::string>{"/mnt"});
    EXPECT_EQ(
        mounts_to_watch(procfs::parse_mountinfo(
                            "1 1 8:1 / /mnt rw - ext4 /dev/sda1 rw\n2 1 0:9 / /mnt rw - tmpfs tmpfs rw\n"),
                        9)
            .at(0)
            .type,
        "tmpfs");
}

TEST(observe_collect, mounts_are_bounded) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += fmt::format("{0} 1 8:{0} / /m{0} rw - ext4 /dev/d{0} rw\n", i);
    EXPECT_EQ(watched(text).size(), 64u);
    EXPECT_EQ(watched(text, 2), (std::vector<std::string>{"/m0", "/m1"}));
}

}  // namespace
}  // namespace belay::observe::collect
