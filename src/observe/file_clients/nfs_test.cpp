#include "observe/file_clients/nfs.h"

#include "observe/collect/testing.h"

namespace belay::observe::file_clients {
namespace {

using namespace collect::testing;

std::unique_ptr<collect::Collector> nfs_of(const FakeRoot& root) {
    return make_nfs_collector({.process = root.proc() / "self"});
}

std::string mounted_on(std::string_view mount_point) {
    return fmt::format("device server:/export mounted on {} with fstype nfs statvers=1.1\n\tage:\t7\n",
                       mount_point);
}

TEST(observe_file_clients, nfs_has_a_row_per_file_system) {
    FakeRoot root;
    root.load("nfs_linux_6_1");
    stream::Batch rows = sampled(*nfs_of(root), at_second(1));
    ASSERT_EQ(rows.rows(), 2u) << "what is bound to a second place counts once";
    EXPECT_EQ(text(rows, 0, "node"), "n1");
    EXPECT_EQ(text(rows, 0, "mount"), "/data/my projects");
    EXPECT_EQ(text(rows, 0, "device"), "0:52");
    EXPECT_EQ(text(rows, 0, "source"), "nas:/export/projects");
    EXPECT_EQ(text(rows, 0, "type"), "nfs4");
    EXPECT_EQ(text(rows, 0, "version"), "4.2");
    EXPECT_EQ(text(rows, 0, "transport"), "tcp");
    const std::pair<std::string_view, int64_t> kWanted[] = {
        {"age_seconds", 2415},
        {"read_bytes_total", 249283724959},
        {"written_bytes_total", 503403322},
        {"direct_read_bytes_total", 587202560},
        {"direct_written_bytes_total", 17},
        {"server_read_bytes_total", 23922732683},
        {"server_written_bytes_total", 503403320},
        {"opens_total", 31871},
        {"lookups_total", 2968},
        {"short_reads_total", 6},
        {"short_writes_total", 7},
        {"delays_total", 96},
        {"connects_total", 3},
        {"read_operations_total", 1000},
        {"write_operations_total", 2000},
        {"metadata_operations_total", 6390},
        {"retransmits_total", 7},
        {"major_timeouts_total", 1},
        {"failed_operations_total", 115},
    };
    for (const auto& [name, value] : kWanted) EXPECT_EQ(integer(rows, 0, name), value) << name;
    const std::pair<std::string_view, double> kSeconds[] = {
        {"read_queue_seconds_total", 0.145},       {"read_round_trip_seconds_total", 60.321},
        {"read_execute_seconds_total", 60.5},      {"write_queue_seconds_total", 1},
        {"write_round_trip_seconds_total", 80},    {"write_execute_seconds_total", 81.001},
        {"metadata_queue_seconds_total", 0.048},   {"metadata_round_trip_seconds_total", 2.393},
        {"metadata_execute_seconds_total", 2.467},
    };
    for (const auto& [name, value] : kSeconds) EXPECT_EQ(real(rows, 0, name), value) << name;
    EXPECT_EQ(text(rows, 1, "mount"), "/fast");
    EXPECT_EQ(text(rows, 1, "transport"), "rdma");
    EXPECT_EQ(integer(rows, 1, "connects_total"), 3);
    EXPECT_EQ(integer(rows, 1, "retransmits_total"), 3);
}

TEST(observe_file_clients, nfs_of_an_old_kernel_has_no_errors) {
    FakeRoot root;
    root.load("nfs_linux_2_6_32");
    stream::Batch rows = sampled(*nfs_of(root), at_second(1));
    ASSERT_EQ(rows.rows(), 1u);
    EXPECT_EQ(text(rows, 0, "device"), "0:18");
    EXPECT_EQ(integer(rows, 0, "delays_total"), 25);
    EXPECT_EQ(integer(rows, 0, "retransmits_total"), 8);
    EXPECT_EQ(real(rows, 0, "metadata_execute_seconds_total"), 0.527);
    EXPECT_TRUE(is_null(rows, 0, "connects_total"));
    EXPECT_TRUE(is_null(rows, 0, "failed_operations_total"));
}

TEST(observe_file_clients, one_nfs_mount_over_another_is_told_apart) {
    const std::string mountstats = mounted_on("/a") + mounted_on("/a") + mounted_on("/b");
    std::vector<NfsFileSystem> file_systems = nfs_file_systems(
        mountstats,
        "1 1 0:50 / /a rw - nfs s:/1 rw\n2 1 0:51 / /a rw - nfs s:/2 rw\n3 1 0:9 / /b rw - autofs x rw\n"
        "4 1 0:50 / /b rw - nfs s:/1 rw\n",
        100);
    ASSERT_EQ(file_systems.size(), 2u);
    EXPECT_EQ(file_systems[0].device, "0:50");
    EXPECT_EQ(file_systems[1].device, "0:51");
    EXPECT_EQ(file_systems[1].mount.mount_point, "/a");
}

TEST(observe_file_clients, without_mountinfo_each_nfs_mount_counts) {
    FakeRoot root;
    root.write("proc/self/mountstats", mounted_on("/a") + mounted_on("/b"));
    stream::Batch rows = sampled(*nfs_of(root), at_second(1));
    ASSERT_EQ(rows.rows(), 2u);
    EXPECT_TRUE(is_null(rows, 0, "device"));
    EXPECT_EQ(integer(rows, 0, "age_seconds"), 7);
    for (std::string_view name : {"version", "transport", "read_bytes_total", "read_operations_total",
                                  "metadata_queue_seconds_total", "retransmits_total", "connects_total"})
        EXPECT_TRUE(is_null(rows, 0, name)) << name;
}

TEST(observe_file_clients, only_so_many_nfs_file_systems_are_kept) {
    std::string mountstats;
    for (int i = 0; i < 20; ++i) mountstats += mounted_on(fmt::format("/{}", i));
    EXPECT_EQ(nfs_file_systems(mountstats, "", 12).size(), 12u);
}

TEST(observe_file_clients, a_node_without_nfs_owes_no_rows) {
    FakeRoot root;
    root.write("proc/self/mountstats", "device proc mounted on /proc with fstype proc\n");
    std::unique_ptr<collect::Collector> nfs = nfs_of(root);
    EXPECT_FALSE(nfs->is_expected());
    EXPECT_TRUE(sampled(*nfs, at_second(1)).empty());
    EXPECT_FALSE(nfs->is_expected());
    root.load("nfs_linux_2_6_32");
    sampled(*nfs, at_second(2));
    EXPECT_TRUE(nfs->is_expected());
}

TEST(observe_file_clients, a_kernel_without_mountstats_is_an_error) {
    FakeRoot root;
    std::unique_ptr<collect::Collector> nfs = nfs_of(root);
    stream::Batch rows(nfs->table());
    core::Result<> result = nfs->collect({at_second(1), "n1"}, rows);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind(), core::ErrorKind::kSystem);
    EXPECT_TRUE(rows.empty());
}

TEST(observe_file_clients, nfs_of_this_machine_is_read) {
    std::unique_ptr<collect::Collector> nfs = make_nfs_collector({});
    sampled(*nfs, at_second(1));
}

}  // namespace
}  // namespace belay::observe::file_clients
