#include "observe/file_clients/mountstats.h"

#include "core/file.h"

#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::observe::file_clients {
namespace {

std::string mountstats_in(std::string_view capture) {
    return *core::read_file(std::filesystem::path(BELAY_TESTDATA) / capture / "proc/self/mountstats");
}

// One mount, with these lines of statistics and of operations.
std::string one_mount(std::string_view lines, std::string_view operations = "") {
    return fmt::format(
        "device server:/export mounted on /mnt with fstype nfs4 statvers=1.1\n{}\tper-op statistics\n{}",
        lines, operations);
}

NfsMount mount_in(const std::string& text) {
    std::vector<NfsMount> mounts = parse_mountstats(text);
    EXPECT_EQ(mounts.size(), 1u);
    return mounts.empty() ? NfsMount() : mounts.front();
}

TEST(observe_file_clients, nfs_statistics_1_0_are_read) {
    NfsMount mount = mount_in(mountstats_in("nfs_linux_2_6_32"));
    EXPECT_EQ(mount.source, "fileserver:/home");
    EXPECT_EQ(mount.mount_point, "/home");
    EXPECT_EQ(mount.type, "nfs");
    EXPECT_EQ(mount.version, "3");
    EXPECT_EQ(mount.transport, "udp");
    EXPECT_EQ(mount.age_seconds, 864000);
    EXPECT_EQ(mount.bytes[0], 1000001);
    EXPECT_EQ(mount.bytes[5], 6000006);
    EXPECT_EQ(mount.events[4], 55);
    EXPECT_EQ(mount.events[24], 25);
    EXPECT_EQ(mount.events[25], std::nullopt) << "only 25 events in this version";
    EXPECT_EQ(mount.connects, std::nullopt) << "udp does not connect";
    EXPECT_EQ(mount.reads.count, 40);
    EXPECT_EQ(mount.reads.queue_milliseconds, 70);
    EXPECT_EQ(mount.reads.round_trip_milliseconds, 900);
    EXPECT_EQ(mount.reads.execute_milliseconds, 1000);
    EXPECT_EQ(mount.writes.count, 50);
    EXPECT_EQ(mount.writes.execute_milliseconds, 800);
    EXPECT_EQ(mount.metadata.count, 100 + 1 + 20 + 30) << "GETATTR, SETATTR, LOOKUP, ACCESS";
    EXPECT_EQ(mount.metadata.execute_milliseconds, 460 + 1 + 44 + 22);
    EXPECT_EQ(mount.retransmits, 1 + 7);
    EXPECT_EQ(mount.major_timeouts, 2);
    EXPECT_EQ(mount.errors, std::nullopt) << "not counted yet";
}

TEST(observe_file_clients, nfs_statistics_1_1_are_read) {
    std::vector<NfsMount> mounts = parse_mountstats(mountstats_in("nfs_linux_6_1"));
    ASSERT_EQ(mounts.size(), 3u);
    const NfsMount& mount = mounts[0];
    EXPECT_EQ(mount.source, "nas:/export/projects");
    EXPECT_EQ(mount.mount_point, "/data/my projects");
    EXPECT_EQ(mount.type, "nfs4");
    EXPECT_EQ(mount.version, "4.2");
    EXPECT_EQ(mount.transport, "tcp");
    EXPECT_EQ(mount.bytes[4], 23922732683);
    EXPECT_EQ(mount.events[26], 0);
    EXPECT_EQ(mount.connects, 2 + 1) << "two connections";
    EXPECT_EQ(mount.metadata.count, 300 + 299 + 5000 + 700 + 80 + 6 + 5) << "not LOCK, COMMIT, SEQUENCE";
    EXPECT_EQ(mount.metadata.round_trip_milliseconds, 600 + 300 + 1100 + 350 + 30 + 12 + 1);
    EXPECT_EQ(mount.retransmits, 3 + 4);
    EXPECT_EQ(mount.major_timeouts, 1);
    EXPECT_EQ(mount.errors, 2 + 1 + 3 + 4 + 100 + 5);
    EXPECT_EQ(mounts[1].source, "nas2:/fast lane");
    EXPECT_EQ(mounts[1].transport, "rdma");
    EXPECT_EQ(mounts[1].connects, 3);
    EXPECT_EQ(mounts[2].mount_point, "/srv/bound");
}

TEST(observe_file_clients, nfs_over_a_local_socket_has_no_port) {
    EXPECT_EQ(mount_in(one_mount("\txprt:\tlocal 0 5 0 0 10 10 0 1 0 2 3 4\n")).connects, 5);
    EXPECT_EQ(mount_in(one_mount("\txprt:\ttcp 0 5\n")).connects, std::nullopt) << "cut";
    EXPECT_EQ(mount_in(one_mount("\txprt:\n")).connects, std::nullopt);
    EXPECT_EQ(mount_in(one_mount("\txprt:\tnew 0 5 6 7\n")).connects, std::nullopt);
}

TEST(observe_file_clients, wrong_numbers_of_nfs_are_nothing_and_not_0) {
    NfsMount mount = mount_in(one_mount("\tage:\t-5\n\tbytes:\t1 x -3 9223372036854775808 5\n",
                                        "\tREAD: 5 4 0 1 1 -2 3 4 0\n\tWRITE: 9 x 0 1 1 2 3\n"
                                        "\tGETATTR: 9223372036854775807 1 0 1 1 2 3 4 0\n"
                                        "\tLOOKUP: 1 1 0 1 1 2 3 4 0\n"));
    EXPECT_EQ(mount.age_seconds, std::nullopt);
    EXPECT_EQ(mount.bytes[0], 1);
    for (size_t i : {1, 2, 3, 5}) EXPECT_EQ(mount.bytes[i], std::nullopt) << i;
    EXPECT_EQ(mount.bytes[4], 5);
    EXPECT_EQ(mount.reads.count, 5);
    EXPECT_EQ(mount.reads.queue_milliseconds, std::nullopt);
    EXPECT_EQ(mount.reads.execute_milliseconds, 4);
    EXPECT_EQ(mount.writes.count, 9);
    EXPECT_EQ(mount.writes.execute_milliseconds, std::nullopt) << "cut";
    EXPECT_EQ(mount.metadata.count, std::nullopt) << "beyond 63 bits";
    EXPECT_EQ(mount.metadata.execute_milliseconds, 8);
    EXPECT_EQ(mount.retransmits, std::nullopt);
    EXPECT_EQ(mount.major_timeouts, 0);
}

TEST(observe_file_clients, nfs_operations_that_were_never_sent_take_nothing_off_the_retransmits) {
    EXPECT_EQ(mount_in(one_mount("", "\tREAD: 5 4 0 1 1 2 3 4 0\n\tWRITE: 5 8 0 1 1 2 3 4 0\n")).retransmits,
              3);
}

TEST(observe_file_clients, only_mounts_of_nfs_are_taken_from_mountstats) {
    const std::string nfs = one_mount("\tage:\t7\n");
    for (std::string_view other :
         {"", "\n", "device\n", "device a\n", "device a mounted on /b with fstype\n",
          "no device mounted on / with\n", "device a mounted on /b with fstype nfsd\n",
          "device a mounted at /b with fstype nfs\n",
          "device a mounted on /b with fstype tmpfs\n\tage:\t9\n\tper-op statistics\n\tREAD: 1 1 1 1 1 1 1 1 "
          "1\n"}) {
        EXPECT_TRUE(parse_mountstats(other).empty()) << other;
        EXPECT_EQ(mount_in(std::string(other) + nfs).age_seconds, 7) << other;
        EXPECT_EQ(mount_in(nfs + std::string(other)).age_seconds, 7) << other;
    }
}

TEST(observe_file_clients, a_mount_of_nfs_without_statistics_has_none) {
    NfsMount mount = mount_in("device a:/b mounted on /c with fstype nfs\n");
    EXPECT_FALSE(mount.has_operations);
    EXPECT_EQ(mount.age_seconds, std::nullopt);
    EXPECT_EQ(mount.bytes[0], std::nullopt);
    EXPECT_EQ(mount.version, "");
}

TEST(observe_file_clients, the_version_of_nfs_stands_among_the_options) {
    EXPECT_EQ(mount_in(one_mount("\topts:\tvers=3\n")).version, "3");
    EXPECT_EQ(mount_in(one_mount("\topts:\trw,mountvers=3,vers=4.1\n")).version, "4.1");
    EXPECT_EQ(mount_in(one_mount("\topts:\trw,,\n\topts:\n")).version, "");
}

TEST(observe_file_clients, mountstats_cut_anywhere_lose_the_last_mount_or_nothing) {
    const std::string text = mountstats_in("nfs_linux_6_1");
    const std::vector<NfsMount> whole = parse_mountstats(text);
    for (size_t length = 0; length < text.size(); ++length) {
        std::vector<NfsMount> mounts = parse_mountstats(std::string_view(text).substr(0, length));
        ASSERT_LE(mounts.size(), whole.size());
        for (size_t i = 0; i + 1 < mounts.size(); ++i)
            ASSERT_EQ(mounts[i].metadata.count, whole[i].metadata.count) << length;
        if (!mounts.empty() && mounts.back().reads.count != whole[mounts.size() - 1].reads.count) {
            ASSERT_EQ(text[length - 1], '\n') << "no number of half a line at " << length;
        }
    }
}

TEST(observe_file_clients, only_so_many_mounts_are_taken_from_mountstats) {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += one_mount("");
    EXPECT_EQ(parse_mountstats(text).size(), 4096u);
}

}  // namespace
}  // namespace belay::observe::file_clients
