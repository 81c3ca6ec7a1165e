#include "findings/series_store.h"

#include "core/file.h"
#include "findings/prepare.h"
#include "record/new_segment.h"
#include "record/place.h"
#include "schema/tables/host.h"
#include "schema/tables/process.h"

#include <fstream>

#include <gtest/gtest.h>

namespace belay::findings {
namespace {

using schema::column;
using schema::kHost;
using schema::kProcess;

const core::Time kStart = core::time_from_nanoseconds(1'700'000'000'000'000'000);

// Two nodes of a sealed record, each with a process that keeps a CPU busy for a part of the time.
class SealedRecord {
  public:
    SealedRecord() : directory_(core::TemporaryDirectory::create("series_store").value()) {
        record::Manifest manifest;
        manifest.job.nodes = {"n1", "n2"};
        manifest.created = kStart;
        manifest.interval = std::chrono::seconds(1);
        EXPECT_TRUE(record::begin_record(path(), manifest));
        for (int node = 1; node <= 2; ++node) write(fmt::format("n{}", node), 0.25 * node);
        EXPECT_TRUE(record::seal(path(), kStart + std::chrono::hours(1)));
    }
    std::filesystem::path path() const { return directory_.path() / "record"; }
    std::filesystem::path table(std::string_view name) const {
        return path() / "tables" / fmt::format("{}.parquet", name);
    }
    record::Archive open() const { return record::Archive::open(path()).value(); }

  private:
    void write(const std::string& node, double busy) const {
        auto place = core::Directory::open(path()).value();
        auto writer =
            record::new_segment(place, node + ".seg",
                                {.node = node, .start = kStart, .interval = std::chrono::seconds(1)})
                .value();
        stream::Batch host(kHost);
        stream::Batch process(kProcess);
        for (int second = 0; second < 300; ++second) {
            const core::Time now = kStart + std::chrono::seconds(second);
            host.add_row(now, node);
            host.set(column(kHost, "cpu_count"), 4);
            host.set(column(kHost, "cpu_user_seconds_total"), 1000 + busy * second);
            host.set(column(kHost, "cpu_system_seconds_total"), 10.0);
            process.add_row(now, node);
            process.set(column(kProcess, "pid"), 77);
            process.set(column(kProcess, "start_time"), kStart - std::chrono::seconds(5));
            process.set(column(kProcess, "cpu_user_seconds_total"), busy * second);
            process.set(column(kProcess, "cpu_system_seconds_total"), 0.0);
        }
        ASSERT_TRUE(writer.append(host));
        ASSERT_TRUE(writer.append(process));
        ASSERT_TRUE(writer.finish(kStart + std::chrono::seconds(300)));
    }
    core::TemporaryDirectory directory_;
};

constexpr const char* kSeries = R"(
    SELECT node, count(*), sum(cpus_used), (SELECT sum(n.cpus_used) FROM host_series n WHERE n.node = p.node)
    FROM process_series p GROUP BY node ORDER BY node)";

std::vector<std::vector<record::Value>> series_of(record::Archive& archive) {
    EXPECT_TRUE(add_series(archive, PrepareGpus()));
    auto answer = archive.query(kSeries);
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? answer->rows : std::vector<std::vector<record::Value>>();
}

TEST(findings, kept_series_are_those_that_were_made) {
    const SealedRecord record;
    auto before = record.open();
    const auto made = series_of(before);
    ASSERT_EQ(made.size(), 2U);
    EXPECT_NEAR(record::as_double(made[1][2]), 0.5 * 300, 1);
    auto archive = record.open();
    ASSERT_TRUE(keep_series(archive, record.path(), {}));
    EXPECT_TRUE(std::filesystem::exists(record.table("host_series")));
    EXPECT_FALSE(std::filesystem::exists(record.table("network_series"))) << "it would have no rows";
    auto after = record.open();
    EXPECT_EQ(series_of(after), made);
}

TEST(findings, kept_series_serve_where_they_hold) {
    const SealedRecord record;
    auto archive = record.open();
    ASSERT_TRUE(keep_series(archive, record.path(), {}));
    std::ofstream(record.table("process")) << "damaged";
    auto with_kept = record.open();
    EXPECT_EQ(series_of(with_kept).size(), 2U) << "of the samples nothing is left";
    auto again = record.open();
    ASSERT_TRUE(keep_series(again, record.path(), {}));
    auto still = record.open();
    EXPECT_EQ(series_of(still).size(), 2U) << "and they are not written again from what is left";
}

TEST(findings, series_that_cannot_be_read_are_made_again) {
    const SealedRecord record;
    auto before = record.open();
    const auto made = series_of(before);
    auto archive = record.open();
    ASSERT_TRUE(keep_series(archive, record.path(), {}));
    const auto size = std::filesystem::file_size(record.table("process_series"));
    std::filesystem::resize_file(record.table("process_series"), size / 2);
    auto damaged = record.open();
    EXPECT_EQ(series_of(damaged), made);
    auto again = record.open();
    ASSERT_TRUE(keep_series(again, record.path(), {}));
    EXPECT_GT(std::filesystem::file_size(record.table("process_series")), size / 2);
    auto mended = record.open();
    EXPECT_EQ(series_of(mended), made);
}

TEST(findings, series_of_an_unsealed_record_are_not_kept) {
    auto directory = core::TemporaryDirectory::create("series_store").value();
    const auto path = directory.path() / "record";
    record::Manifest manifest;
    manifest.created = kStart;
    ASSERT_TRUE(record::begin_record(path, manifest));
    auto archive = record::Archive::open(path).value();
    auto kept = keep_series(archive, path, {});
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().kind(), core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::findings
