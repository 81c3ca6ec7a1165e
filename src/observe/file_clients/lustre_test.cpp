#include "observe/file_clients/lustre.h"

#include "observe/collect/testing.h"

#include <unistd.h>

namespace belay::observe::file_clients {
namespace {

using namespace collect::testing;

std::unique_ptr<collect::Collector> collector_of(const FakeRoot& root, int servers_every = 1) {
    return make_lustre_collector(
        {.roots = {.proc = root.proc(), .sys = root.sys()}, .servers_every = servers_every});
}

stream::Batch rows_of(std::string_view capture) {
    FakeRoot root;
    root.load(capture);
    return sampled(*collector_of(root), at_second(1));
}

TEST(observe_file_clients, lustre_2_10_is_read_below_proc) {
    stream::Batch rows = rows_of("lustre_2_10");
    ASSERT_EQ(rows.rows(), 1u);
    EXPECT_EQ(text(rows, 0, "file_system"), "scratch");
    EXPECT_EQ(text(rows, 0, "instance"), "ffff8f0a1c2d3000");
    const std::pair<std::string_view, int64_t> kWanted[] = {
        {"read_bytes_total", 149625492},
        {"written_bytes_total", 118427486},
        {"reads_total", 5740},
        {"writes_total", 1622},
        {"opens_total", 335},
        {"closes_total", 334},
        {"stats_total", 593},
        {"attribute_changes_total", 45 + 5},
        {"creates_total", 11 + 21 + 4 + 2},
        {"removes_total", 183 + 27},
        {"renames_total", 13},
        {"directory_reads_total", 108},
        {"statfs_total", 15},
        {"extended_attribute_calls_total", 201 + 1 + 4},
        {"locks_total", 3},
        {"syncs_total", 6},
        {"maps_total", 12},
        {"metadata_operations_total", 334 + 38 + 2115 + 13 + 50 + 38 + 210},
        {"metadata_requests_total", 2759},
        {"data_requests_total", 100 + 20},
        {"data_read_bytes_total", 1'000'500},
        {"data_written_bytes_total", 2'000'000},
        {"connection_attempts_total", 1 + 1 + 9},
        {"request_timeouts_total", 4},
        {"requests_in_flight", 2 + 0 + 1},
        {"targets", 3},
        {"targets_idle", 0},
        {"targets_not_ready", 1},
        {"targets_evicted", 0},
        {"evictions_remembered", 1},
    };
    for (const auto& [name, value] : kWanted) EXPECT_EQ(integer(rows, 0, name), value) << name;
    EXPECT_EQ(real(rows, 0, "metadata_wait_seconds_total"), 4.515821);
    EXPECT_EQ(real(rows, 0, "data_wait_seconds_total"), 0.2);
    EXPECT_EQ(text(rows, 0, "not_ready_target"), "scratch-OST0001");
    EXPECT_EQ(integer(rows, 0, "last_eviction_time"), 1790100005'000000000);
    for (std::string_view name : {"read_seconds_total", "write_seconds_total", "metadata_seconds_total",
                                  "calls_start_time", "metadata_start_time", "data_start_time"})
        EXPECT_TRUE(is_null(rows, 0, name)) << name << ": not told by this version";
}

TEST(observe_file_clients, lustre_2_12_is_read_in_debugfs_and_below_proc) {
    stream::Batch rows = rows_of("lustre_2_12");
    ASSERT_EQ(rows.rows(), 1u);
    EXPECT_EQ(integer(rows, 0, "read_bytes_total"), 40960);
    EXPECT_EQ(integer(rows, 0, "written_bytes_total"), 0);
    EXPECT_EQ(integer(rows, 0, "creates_total"), 2) << "each create is a mknod, too";
    EXPECT_EQ(integer(rows, 0, "metadata_operations_total"), 40);
    EXPECT_EQ(real(rows, 0, "metadata_wait_seconds_total"), 0.005);
    EXPECT_EQ(integer(rows, 0, "data_requests_total"), 0);
    EXPECT_EQ(real(rows, 0, "data_wait_seconds_total"), 0) << "nothing was asked of it yet";
    EXPECT_EQ(integer(rows, 0, "targets"), 2);
    EXPECT_EQ(integer(rows, 0, "targets_idle"), 1);
    EXPECT_EQ(integer(rows, 0, "targets_not_ready"), 0) << "an idle one connects when it is needed";
    EXPECT_TRUE(is_null(rows, 0, "not_ready_target"));
    EXPECT_TRUE(is_null(rows, 0, "last_eviction_time"));
    EXPECT_EQ(integer(rows, 0, "evictions_remembered"), 0);
}

TEST(observe_file_clients, lustre_2_15_tells_times_and_since_when) {
    stream::Batch rows = rows_of("lustre_2_15");
    ASSERT_EQ(rows.rows(), 3u) << "a file system that is mounted twice counts twice";
    EXPECT_EQ(text(rows, 0, "file_system"), "home-1");
    EXPECT_EQ(real(rows, 0, "read_seconds_total"), 7034.832815);
    EXPECT_EQ(real(rows, 0, "write_seconds_total"), 3.002623);
    EXPECT_EQ(real(rows, 0, "metadata_seconds_total"), (342085 + 579801 + 490368 + 289712) / 1e6);
    EXPECT_EQ(integer(rows, 0, "calls_start_time"), 1790008165'367572621);
    EXPECT_TRUE(is_null(rows, 0, "targets")) << "it has none here";
    EXPECT_EQ(text(rows, 1, "instance"), "ff47bce9ca35d800");
    EXPECT_EQ(integer(rows, 1, "read_bytes_total"), 3'000'000);
    EXPECT_EQ(integer(rows, 1, "calls_start_time"), 1790009999'999999999);
    EXPECT_EQ(text(rows, 2, "instance"), "ffff000189257000");
    EXPECT_EQ(integer(rows, 2, "metadata_requests_total"), 200 + 201);
    EXPECT_EQ(integer(rows, 2, "metadata_operations_total"), 2 * 33 + 60 + 61);
    EXPECT_EQ(real(rows, 2, "metadata_wait_seconds_total"), (45158 + 45159) / 1e6);
    EXPECT_EQ(integer(rows, 2, "metadata_start_time"), 1790008165'372789941) << "the earliest";
    EXPECT_EQ(integer(rows, 2, "targets"), 2) << "without that of a server";
}

TEST(observe_file_clients, lustre_2_17_is_read_in_debugfs) {
    stream::Batch rows = rows_of("lustre_2_17");
    ASSERT_EQ(rows.rows(), 1u);
    EXPECT_EQ(integer(rows, 0, "read_bytes_total"), 1496254921055);
    EXPECT_EQ(real(rows, 0, "metadata_wait_seconds_total"), 45158.219745);
    EXPECT_EQ(integer(rows, 0, "data_read_bytes_total"), 15);
    EXPECT_EQ(integer(rows, 0, "data_start_time"), 1790008165'380000000);
    EXPECT_EQ(integer(rows, 0, "targets"), 3) << "without the one that is switched off";
    EXPECT_EQ(integer(rows, 0, "targets_not_ready"), 1);
    EXPECT_EQ(integer(rows, 0, "targets_evicted"), 1);
    EXPECT_EQ(integer(rows, 0, "connection_attempts_total"), 1 + 1 + 2 + 3);
    EXPECT_EQ(text(rows, 0, "not_ready_target"), "a361000-OST0001");
    EXPECT_EQ(integer(rows, 0, "last_eviction_time"), 1790277010'000000000);
}

TEST(observe_file_clients, servers_of_lustre_are_looked_at_now_and_then) {
    FakeRoot root;
    root.load("lustre_2_17");
    std::unique_ptr<collect::Collector> lustre = collector_of(root, 3);
    for (int second = 0; second < 7; ++second) {
        stream::Batch rows = sampled(*lustre, at_second(second));
        ASSERT_EQ(rows.rows(), 1u);
        EXPECT_FALSE(is_null(rows, 0, "reads_total"));
        EXPECT_EQ(is_null(rows, 0, "metadata_requests_total"), second % 3 != 0) << second;
        EXPECT_EQ(is_null(rows, 0, "targets"), second % 3 != 0) << second;
    }
}

TEST(observe_file_clients, a_lustre_target_that_cannot_be_read_takes_its_sums_with_it) {
    FakeRoot root;
    root.load("lustre_2_10");
    root.write("proc/fs/lustre/osc/scratch-OST0001-osc-ffff8f0a1c2d3000/stats",
               "snapshot_time 1.0 secs.nsecs\nread_");
    root.write("proc/fs/lustre/mdc/scratch-MDT0000-mdc-ffff8f0a1c2d3000/import", "import:\n");
    stream::Batch rows = sampled(*collector_of(root), at_second(1));
    for (std::string_view name : {"data_requests_total", "data_read_bytes_total", "connection_attempts_total",
                                  "targets", "targets_not_ready"})
        EXPECT_TRUE(is_null(rows, 0, name)) << name << ": a smaller sum would look like counters set back";
    EXPECT_EQ(integer(rows, 0, "metadata_requests_total"), 2759);
    EXPECT_EQ(integer(rows, 0, "evictions_remembered"), 1);
}

TEST(observe_file_clients, a_lustre_target_that_is_gone_is_left_out) {
    FakeRoot root;
    root.load("lustre_2_10");
    std::unique_ptr<collect::Collector> lustre = collector_of(root);
    sampled(*lustre, at_second(1));
    for (std::string_view file : {"stats", "import", "state"})  // between listing and reading
        root.remove(fmt::format("proc/fs/lustre/osc/scratch-OST0001-osc-ffff8f0a1c2d3000/{}", file));
    stream::Batch rows = sampled(*lustre, at_second(2));
    EXPECT_EQ(integer(rows, 0, "data_requests_total"), 100);
    EXPECT_EQ(integer(rows, 0, "targets"), 2);
    root.remove("proc/fs/lustre");  // unmounted
    EXPECT_TRUE(sampled(*lustre, at_second(3)).empty());
    EXPECT_FALSE(lustre->is_expected());
}

TEST(observe_file_clients, a_node_without_lustre_owes_no_rows) {
    FakeRoot root;
    std::unique_ptr<collect::Collector> lustre = collector_of(root);
    EXPECT_FALSE(lustre->is_expected());
    EXPECT_TRUE(sampled(*lustre, at_second(1)).empty());
    EXPECT_FALSE(lustre->is_expected());
    root.load("lustre_2_10");
    sampled(*lustre, at_second(2));
    EXPECT_TRUE(lustre->is_expected());
}

TEST(observe_file_clients, what_lustre_keeps_for_root_is_an_error_where_nothing_else_is_known) {
    if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
    FakeRoot root;
    root.load("lustre_2_12");
    fs::permissions(root.sys() / "kernel/debug", fs::perms::none);
    std::unique_ptr<collect::Collector> lustre = collector_of(root, 2);
    stream::Batch rows = sampled(*lustre, at_second(1));
    EXPECT_EQ(rows.rows(), 1u);
    EXPECT_TRUE(is_null(rows, 0, "reads_total"));
    EXPECT_EQ(integer(rows, 0, "targets"), 2) << "which everybody may read";
    rows.clear();
    core::Result<> result = lustre->collect({at_second(2), "n1"}, rows);
    fs::permissions(root.sys() / "kernel/debug", fs::perms::owner_all);
    ASSERT_FALSE(result.has_value()) << "nothing is known in between";
    EXPECT_EQ(result.error().kind(), core::ErrorKind::kSystem);
    EXPECT_EQ(result.error().cause(), core::Cause::kDenied);
    EXPECT_NE(result.error().hint_text(), "");
    EXPECT_TRUE(rows.empty());
    EXPECT_TRUE(lustre->is_expected());
}

TEST(observe_file_clients, only_so_many_mounts_of_lustre_are_read) {
    FakeRoot root;
    for (int i = 0; i < 70; ++i)
        root.write(fmt::format("proc/fs/lustre/llite/fs{:02}-ffff8f0a1c2d3000/stats", i),
                   "snapshot_time 1.000000000 secs.nsecs\nopen 1 samples [regs]\n");
    stream::Batch rows = sampled(*collector_of(root), at_second(1));
    EXPECT_EQ(rows.rows(), 64u);
    EXPECT_EQ(text(rows, 63, "file_system"), "fs63");
}

TEST(observe_file_clients, lustre_of_this_machine_is_read_without_a_failure) {
    std::unique_ptr<collect::Collector> lustre = make_lustre_collector({});
    sampled(*lustre, at_second(1));
}

}  // namespace
}  // namespace belay::observe::file_clients
