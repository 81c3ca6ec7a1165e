// Sealed tables may hold any time; nothing else in a record may be trusted either.
#include "record/archive/archive.h"
#include "record/archive/database.h"
#include "report/query.h"
#include "report/testing/record_builder.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace belay::report {
namespace {

// A sealed record of two nodes with a step of 100 s.
std::filesystem::path sealed(RecordBuilder& record) {
    for (const char* node : {"n1", "n2"}) {
        record.row(schema::kAllocation, node, 0)
            .set("step_id", "0")
            .set("cpus", 4)
            .set("first_task", 0)
            .set("t0", record.at(0))
            .set("t1", record.at(100));
        for (int second = 0; second <= 100; ++second) {
            record.row(schema::kHost, node, second)
                .set("cpu_count", 4)
                .set("cpu_user_seconds_total", 4.0 * second);
            record.row(schema::kCoverage, node, second)
                .set("table_name", "host")
                .set("start", record.at(second))
                .set("interval_seconds", 1.0)
                .set("expected", 1)
                .set("received", 1);
        }
    }
    std::filesystem::path path = record.write();
    EXPECT_TRUE(record::seal(path, record.at(1e6)));
    return path;
}

struct Change {
    const char* table;
    const char* rows;  // SQL of its rows as `t`
};

TEST(report, times_far_from_any_job_write_nothing_outside_the_plots) {
    // Nanoseconds of such times leave 64 bits, where a difference comes out negative.
    const std::vector<std::vector<Change>> kRecords = {
        {{"host", "SELECT * REPLACE (TIMESTAMP '0500-01-01' AS time) FROM t"},
         {"coverage", "SELECT * REPLACE (1e-12 AS interval_seconds) FROM t"}},
        {{"host", "SELECT * FROM t WHERE false"},
         {"coverage", "SELECT * REPLACE (1e-10 AS interval_seconds, TIMESTAMP '5000-01-01' AS time) FROM t"},
         {"allocation",
          "SELECT * REPLACE (TIMESTAMP '0500-01-01' AS t0, TIMESTAMP '0500-01-02' AS t1) FROM t UNION ALL "
          "SELECT * "
          "REPLACE (make_timestamp(8951554821128654) AS t0, make_timestamp(8951554821128655) AS t1, 1234567 "
          "AS cpus) "
          "FROM t"}},
        {{"allocation", "SELECT * REPLACE (NULL AS t0) FROM t"},
         {"host",
          "SELECT * REPLACE (if(node = 'n1', TIMESTAMP '2254-01-01', TIMESTAMP '2261-06-01') AS time) FROM "
          "t"}},
    };
    for (const auto& changes : kRecords) {
        record::Manifest manifest;
        manifest.job = {.id = 4711, .nodes = {"n1", "n2"}};
        manifest.created = core::time_from_nanoseconds(1'772'366'400'000'000'000);
        manifest.interval = std::chrono::seconds(1);
        RecordBuilder record(manifest);
        const auto path = sealed(record);
        for (const Change& change : changes) {
            auto database = record::Database::open().value();
            const auto file = record::sql_literal(
                (record::tables_path(path) / (std::string(change.table) + ".parquet")).string());
            ASSERT_TRUE(database.execute("CREATE TABLE t AS SELECT * FROM read_parquet(" + file + ")"));
            ASSERT_TRUE(
                database.execute("COPY (" + std::string(change.rows) + ") TO " + file + " (FORMAT parquet)"));
        }
        auto archive = record::Archive::open(path);
        ASSERT_TRUE(archive) << archive.error().message();
        auto data = measure(*archive);
        ASSERT_TRUE(data) << data.error().message();
        EXPECT_GE(data->seconds, 0);
        EXPECT_LE(data->buckets, 10'000U);
    }
}

}  // namespace
}  // namespace belay::report
