#include "observe/collect/io.h"

#include "iotrace/reader.h"
#include "iotrace/trace_file.h"
#include "observe/collect/testing.h"
#include "schema/tables/io.h"

#include <memory>

#include <gmock/gmock.h>

namespace belay::observe::collect {
namespace {

using namespace testing;
using iotrace::DeviceTotals;

class Traced {
  public:
    // What the job has done until now; the file is written as programs write it, in place.
    void holds(const std::vector<DeviceTotals>& devices, core::Time began = {}) {
        ASSERT_TRUE(core::replace_file(
            path(), iotrace::encode({.began = began, .programs = 1, .threads = 1, .devices = devices})));
        options.io.trace =
            std::make_shared<iotrace::IoTraceReader>(iotrace::IoTraceReader::open(path()).value());
    }
    stream::Batch sample(int64_t second = 1) {
        if (!collector) collector = make_io_collector(options);
        return sampled(*collector, at_second(second));
    }
    fs::path path() const { return root.proc().parent_path() / "trace"; }

    FakeRoot root;
    CollectOptions options = root.options();
    std::unique_ptr<Collector> collector;
};

DeviceTotals on(uint32_t major, uint32_t minor) {
    DeviceTotals totals{.device = {major, minor}};
    totals.counters[iotrace::kOpens] = 5;
    totals.counters[iotrace::kOpensFailed] = 2;
    totals.counters[iotrace::kReadBytes] = 1000;
    totals.counters[iotrace::kReadNanoseconds] = 1'500'000'000;
    totals.reads_elsewhere[iotrace::size_bin(100)] = 3;
    totals.reads_in_order[iotrace::size_bin(100'000)] = 4;
    return totals;
}

TEST(observe_collect_io, each_file_system_has_a_row_with_its_mount_and_tier) {
    Traced traced;
    traced.root.write("proc/self/mountinfo",
                      "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:50 / /scratch rw - lustre mds:/fs rw\n3 1 "
                      "0:5 / /dev rw - devtmpfs dev rw\n");
    traced.options.io.tiers = {{"/scratch", "flash"}};
    traced.holds({on(8, 1), on(0, 50), on(0, 5), on(0, 77)});
    const stream::Batch rows = traced.sample(7);
    ASSERT_EQ(rows.rows(), 3U) << "none of a file system without data";
    EXPECT_EQ(text(rows, 0, "device"), "8:1");
    EXPECT_EQ(text(rows, 0, "mount"), "/");
    EXPECT_EQ(text(rows, 0, "tier"), "node");
    EXPECT_EQ(text(rows, 1, "mount"), "/scratch");
    EXPECT_EQ(text(rows, 1, "source"), "mds:/fs");
    EXPECT_EQ(text(rows, 1, "tier"), "flash");
    EXPECT_TRUE(is_null(rows, 2, "mount")) << "of a container that nothing is known of";
    EXPECT_EQ(text(rows, 2, "device"), "0:77");
    EXPECT_EQ(integer(rows, 1, "opens_total"), 5);
    EXPECT_EQ(integer(rows, 1, "opens_failed_total"), 2);
    EXPECT_EQ(integer(rows, 1, "reads_total"), 7);
    EXPECT_EQ(integer(rows, 1, "random_reads_total"), 3);
    EXPECT_EQ(integer(rows, 1, "small_reads_total"), 3);
    EXPECT_EQ(integer(rows, 1, "small_random_reads_total"), 3);
    EXPECT_EQ(integer(rows, 1, "read_bytes_total"), 1000);
    EXPECT_EQ(real(rows, 1, "read_seconds_total"), 1.5);
}

TEST(observe_collect_io, counting_began_when_the_trace_was_made) {
    Traced traced;
    traced.holds({on(8, 1)}, at_second(2));
    EXPECT_EQ(integer(traced.sample(5), 0, "start_time"), core::to_nanoseconds(at_second(2)));
    Traced forged;
    forged.holds({on(8, 1)}, at_second(6));
    EXPECT_EQ(integer(forged.sample(5), 0, "start_time"), core::to_nanoseconds(at_second(5)));
}

TEST(observe_collect_io, of_several_mounts_the_one_that_the_site_names_counts) {
    Traced traced;
    traced.root.write(
        "proc/self/mountinfo",
        "1 1 0:50 / /lustre rw - lustre mds:/fs rw\n2 1 0:50 /s /scratch rw - lustre mds:/fs rw\n");
    traced.options.io.tiers = {{"/scratch", "flash"}};
    traced.holds({on(0, 50)});
    const stream::Batch rows = traced.sample();
    EXPECT_EQ(text(rows, 0, "mount"), "/scratch");
    EXPECT_EQ(text(rows, 0, "tier"), "flash");
}

TEST(observe_collect_io, where_no_time_is_known_counting_began_with_the_first_tick) {
    Traced traced;
    traced.holds({});
    EXPECT_EQ(traced.sample(3).rows(), 0U);
    traced.holds({on(8, 1)});
    // The collector holds the file that it was given; what comes into it is seen at the next tick.
    traced.collector.reset();
    const stream::Batch rows = traced.sample(5);
    ASSERT_EQ(rows.rows(), 1U);
    EXPECT_EQ(integer(rows, 0, "start_time"), core::to_nanoseconds(at_second(5)));
    EXPECT_EQ(integer(traced.sample(9), 0, "start_time"), core::to_nanoseconds(at_second(5)));
}

TEST(observe_collect_io, a_container_shows_mounts_that_this_process_does_not_see) {
    Traced traced;
    traced.root.write("proc/self/mountinfo", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    traced.root.write(
        "proc/42/mountinfo",
        "9 9 0:90 / / ro - fuse.squashfuse image ro\n10 9 8:1 /home /data rw - ext4 /dev/sda1 rw\n");
    traced.options.io.task = [] { return 42; };
    traced.holds({on(0, 90), on(8, 1)});
    const stream::Batch rows = traced.sample();
    ASSERT_EQ(rows.rows(), 2U);
    EXPECT_EQ(text(rows, 0, "type"), "fuse.squashfuse");
    EXPECT_EQ(text(rows, 1, "mount"), "/") << "as the node names it";
}

TEST(observe_collect_io, without_a_trace_no_rows_are_owed_and_a_damaged_one_is_an_error) {
    Traced traced;
    EXPECT_FALSE(make_io_collector(traced.options)->is_expected());
    EXPECT_EQ(traced.sample().rows(), 0U);
    traced.holds({on(8, 1)});
    traced.collector.reset();
    EXPECT_TRUE(make_io_collector(traced.options)->is_expected());
    fs::resize_file(traced.path(), 100);
    stream::Batch rows(schema::kIo);
    EXPECT_FALSE(make_io_collector(traced.options)->collect({at_second(1), "n1"}, rows));
}

TEST(observe_collect_io, tiers_are_a_mount_and_a_known_word) {
    EXPECT_EQ(parse_tiers(std::vector<std::string>{"/a=b=flash"}).value()[0].mount_point, "/a=b");
    for (const char* wrong : {"", "/scratch", "scratch=flash", "/scratch=fast", "=flash", "/scratch="})
        EXPECT_EQ(parse_tiers(std::vector<std::string>{wrong}).error().kind(), core::ErrorKind::kBadInput)
            << wrong;
}

}  // namespace
}  // namespace belay::observe::collect
