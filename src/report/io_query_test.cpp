#include "report/io_query.h"

#include "report/testing/record_builder.h"
#include "schema/tables/io.h"

#include <gtest/gtest.h>

namespace belay::report {
namespace {

TEST(report, traced_io_is_told_for_each_file_system) {
    record::Manifest manifest;
    manifest.job.nodes = {"n1"};
    manifest.created = core::time_from_nanoseconds(1'772'366'400'000'000'000);
    manifest.interval = std::chrono::seconds(1);
    RecordBuilder record(std::move(manifest));
    for (int i = 0; i <= 10; ++i) {
        record.row(schema::kIo, "n1", i)
            .set("device", "0:30")
            .set("mount", "/scratch")
            .set("type", "lustre")
            .set("tier", "disk")
            .set("opens_total", 100 * i)
            .set("opens_failed_total", i)
            .set("stats_total", 300 * i)
            .set("stats_failed_total", 2 * i)
            .set("changes_total", 4 * i)
            .set("metadata_calls_total", 504 * i)
            .set("reads_total", 200 * i)
            .set("small_random_reads_total", 50 * i)
            .set("read_bytes_total", 1024 * i)
            .set("writes_total", 0)
            .set("written_bytes_total", 0)
            .set("mapped_bytes_total", 0)
            .set("read_seconds_total", 1.0 * i)
            .set("write_seconds_total", 0.0)
            .set("metadata_seconds_total", 2.0 * i)
            .set("sync_seconds_total", 0.5 * i);
    }
    auto archive = record::Archive::open(record.write());
    ASSERT_TRUE(archive) << archive.error().message();
    const auto group = traced_io(*archive);
    ASSERT_TRUE(group) << group.error().message();
    EXPECT_EQ(group->facts.at(0).name, "/scratch");
    EXPECT_EQ(group->facts.at(0).value,
              "lustre, disk: 1000 opens, 3000 looks at names, 40 changes of names, 30 names not found, 10.0 "
              "KiB in 2000 "
              "reads (25 % small and random); 35 s in these calls");
}

}  // namespace
}  // namespace belay::report
