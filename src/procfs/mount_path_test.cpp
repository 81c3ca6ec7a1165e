#include "procfs/mount_path.h"

#include <gtest/gtest.h>

namespace belay::procfs {
namespace {

std::vector<Mount> host() {
    return parse_mountinfo(
        "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "2 1 0:50 / /scratch rw - lustre fs rw\n"
        "3 1 0:51 /groups /home rw - nfs4 server:/x rw\n");
}

TEST(procfs, a_file_of_a_container_is_found_on_the_host) {
    const auto container = parse_mountinfo(
        "9 9 0:90 / / ro - fuse.squashfuse image ro\n"
        "10 9 0:50 /train/a /data rw - lustre fs rw\n"
        "11 9 0:51 / /h rw - nfs4 server:/x rw\n"
        "12 9 8:1 /etc/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n");
    EXPECT_EQ(path_here("/data/s/1.tar", container, host()), "/scratch/train/a/s/1.tar");
    EXPECT_EQ(path_here("/data", container, host()), "/scratch/train/a");
    EXPECT_EQ(path_here("/h/groups/x", container, host()), "/home/x");
    EXPECT_EQ(path_here("/h/others/x", container, host()), std::nullopt) << "the host has another part of it";
    EXPECT_EQ(path_here("/database/1.tar", container, host()), std::nullopt) << "of the image";
    EXPECT_EQ(path_here("/etc/hosts", container, host()), "/etc/hosts");
}

TEST(procfs, a_file_of_the_same_mounts_has_the_same_name) {
    for (const char* path : {"/", "/a", "/scratch", "/scratch/b", "/home/c", "/scratchy"})
        EXPECT_EQ(path_here(path, host(), host()), path);
    EXPECT_EQ(path_here("/a", {}, host()), std::nullopt);
    EXPECT_EQ(path_here("/a", host(), {}), std::nullopt);
    EXPECT_EQ(path_here("relative", host(), host()), std::nullopt);
}

}  // namespace
}  // namespace belay::procfs
