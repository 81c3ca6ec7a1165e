#include "record/archive/archive.h"

#include "core/file.h"
#include "record/archive/testing.h"
#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "schema/tables/gpu.h"
#include "schema/tables/gpu_device.h"
#include "schema/tables/io.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

namespace fs = std::filesystem;
using core::Time;
using std::chrono::seconds;

TEST(record, same_answers_before_and_after_sealing) {
    RecordFixture fixture;
    fixture.record("n1", 10, true, 10);
    fixture.record("n2", 10, true, 10);
    std::string sql =
        "SELECT node, count(*), sum(load_1m), min(time), max(memory_total_bytes), count(swap_free_bytes) "
        "FROM host GROUP BY node ORDER BY node";
    QueryResult before = query(fixture.path(), sql);
    ASSERT_TRUE(seal(fixture.path(), kStart));
    EXPECT_FALSE(fs::exists(segments_path(fixture.path())));
    QueryResult after = query(fixture.path(), sql);
    EXPECT_EQ(before.rows, after.rows);
    ASSERT_EQ(after.rows.size(), 2u);
    EXPECT_EQ(as_text(after.rows[0][0]), "n1");
    EXPECT_EQ(std::get<int64_t>(after.rows[0][1]), 10);
    EXPECT_EQ(std::get<double>(after.rows[0][2]), 27.5);
    EXPECT_EQ(std::get<Time>(after.rows[0][3]), kStart + seconds(1));
    EXPECT_EQ(std::get<int64_t>(after.rows[0][4]), int64_t{1} << 40);
    EXPECT_EQ(std::get<int64_t>(after.rows[0][5]), 0);
    EXPECT_EQ(info(fixture.path()).coverage, 1.0);
}

TEST(record, a_table_that_cannot_be_read_covers_nothing) {
    RecordFixture fixture;
    fixture.record("n1", 100, true, 100);
    ASSERT_TRUE(seal(fixture.path(), kStart));
    const RecordInfo whole = info(fixture.path());
    ASSERT_EQ(whole.tables.at("host").coverage, 1.0);
    std::filesystem::resize_file(tables_path(fixture.path()) / "host.parquet", 100);
    const RecordInfo facts = info(fixture.path());
    EXPECT_EQ(facts.tables.at("host").coverage, 0.0);
    EXPECT_LT(facts.coverage, whole.coverage);
    const QueryResult rows =
        query(fixture.path(), "SELECT sum(received) FROM coverage WHERE table_name = 'host'");
    EXPECT_EQ(as_double(rows.rows.at(0)[0]), 0) << "whoever asks";
    EXPECT_FALSE(facts.lost.empty());
}

TEST(record, a_killed_recorder_lowers_the_coverage) {
    RecordFixture fixture;
    fixture.record("n1", 100, true, 100);
    fixture.record("n2", 26, false, 25);  // killed after 26 s of 100, its last count at 25 s
    RecordInfo facts = info(fixture.path());
    EXPECT_NEAR(facts.tables["host"].coverage.value(), (100 + 26) / 200.0, 1e-9);
    ASSERT_EQ(facts.lost.size(), 1u);
    EXPECT_THAT(
        facts.lost[0].reason,
        testing::HasSubstr("the recorder on n2 did not finish: it was killed, which loses up to 3 s"));
    // The other periodic tables of the killed recorder got nothing; those of n1 were never counted here.
    EXPECT_EQ(facts.tables["process"].coverage, 0.0);
    EXPECT_FALSE(facts.tables["event"].coverage.has_value());
}

TEST(record, gpus_are_due_only_where_a_recorder_knew_of_one) {
    RecordFixture fixture;
    for (const char* node : {"n1", "n2", "n3", "n4"}) fixture.record(node, 50, false, 0);
    {
        auto writer = stream::SegmentWriter::create(segments_path(fixture.path()) / "gpus.seg",
                                                    {.node = "n2", .periodic = false, .start = kStart});
        stream::Batch device(schema::kGpuDevice);
        device.add_row(kStart, "n2");
        stream::Batch sample(schema::kGpu);
        sample.add_row(kStart + seconds(1), "n3");
        stream::Batch count(schema::kCoverage);
        count.add_row(kStart + seconds(10), "n4");
        count.set(column(schema::kCoverage, "table_name"), "gpu");
        count.set(column(schema::kCoverage, "expected"), 10);
        count.set(column(schema::kCoverage, "received"), 0);
        for (const stream::Batch* rows : {&device, &sample, &count}) ASSERT_TRUE(writer->append(*rows));
        ASSERT_TRUE(writer->finish(kStart + seconds(10)));
    }
    QueryResult due = query(fixture.path(),
                            "SELECT node, sum(expected) FROM coverage WHERE table_name = 'gpu' GROUP BY node "
                            "ORDER BY node");
    ASSERT_EQ(due.rows.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(as_text(due.rows[i][0]), fmt::format("n{}", i + 2));
        EXPECT_EQ(as_double(due.rows[i][1]), 50);
    }
    EXPECT_EQ(info(fixture.path()).tables["host"].coverage, 1.0);
}

TEST(record, a_killed_recorder_without_gpus_or_traced_programs_misses_none) {
    RecordFixture fixture;
    fixture.record("n1", 50, false, 0);
    EXPECT_FALSE(info(fixture.path()).tables["gpu"].coverage.has_value());
    EXPECT_FALSE(info(fixture.path()).tables["io"].coverage.has_value());
}

TEST(record, io_is_due_only_where_it_was_traced) {
    RecordFixture fixture;
    for (const char* node : {"n1", "n2"}) fixture.record(node, 50, false, 0);
    {
        auto writer = stream::SegmentWriter::create(segments_path(fixture.path()) / "io.seg",
                                                    {.node = "n2", .periodic = false, .start = kStart});
        stream::Batch sample(schema::kIo);
        sample.add_row(kStart + seconds(1), "n2");
        ASSERT_TRUE(writer->append(sample));
        ASSERT_TRUE(writer->finish(kStart + seconds(1)));
    }
    const QueryResult due = query(
        fixture.path(), "SELECT node, sum(expected) FROM coverage WHERE table_name = 'io' GROUP BY node");
    ASSERT_EQ(due.rows.size(), 1u);
    EXPECT_EQ(as_text(due.rows[0][0]), "n2");
}

TEST(record, names_of_directories_are_no_patterns) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    ASSERT_TRUE(seal(fixture.path(), kStart));
    RecordFixture other;
    other.record("n2", 5, true, 5);
    ASSERT_TRUE(seal(other.path(), kStart));
    const fs::path directory = fixture.path().parent_path();
    fs::copy(fixture.path(), directory / "run1", fs::copy_options::recursive);
    for (const char* name : {"run[1]", "run?", "run*", "[[]", "it's [a-z]*"}) {
        fs::copy(other.path(), directory / name, fs::copy_options::recursive);
        EXPECT_EQ(
            as_double(query(directory / name, "SELECT count(*) FROM host WHERE node = 'n2'").rows[0][0]), 5)
            << name;
        EXPECT_EQ(info(directory / name).tables["host"].rows, 5) << name;
        EXPECT_TRUE(info(directory / name).lost.empty()) << name;
    }
    EXPECT_EQ(as_double(query(directory / "run1", "SELECT count(*) FROM host").rows[0][0]), 3);
}

TEST(record, a_recorder_that_was_started_again_covers_from_there) {
    RecordFixture fixture;
    fixture.record("n1", 10, false, 10);
    fixture.record("n1", 80, true, 80, 20);  // the first died at 10 s, the second came at 20 s
    EXPECT_NEAR(info(fixture.path()).tables["host"].coverage.value(), 90 / 100.0, 1e-9);
}

TEST(record, of_an_interval_the_closing_row_is_kept) {
    RecordFixture fixture;
    auto writer = stream::SegmentWriter::create(segments_path(fixture.path()) / "a.seg",
                                                {.node = "n1", .start = kStart});
    for (bool closing : {false, true}) {
        stream::Batch rows(schema::kAllocation);
        rows.add_row(kStart + seconds(closing ? 50 : 0), "n1");
        rows.set(column(schema::kAllocation, "job_id"), 7);
        rows.set(column(schema::kAllocation, "t0"), kStart);
        if (closing) rows.set(column(schema::kAllocation, "t1"), kStart + seconds(50));
        ASSERT_TRUE(writer->append(rows));
    }
    ASSERT_TRUE(writer->finish(kStart));
    QueryResult result = query(fixture.path(), "SELECT t1 FROM allocation");
    ASSERT_EQ(result.rows.size(), 1u);
    EXPECT_EQ(std::get<Time>(result.rows[0][0]), kStart + seconds(50));
}

TEST(record, sql_cannot_leave_the_record) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    ASSERT_TRUE(seal(fixture.path(), kStart));
    auto archive = Archive::open(fixture.path());
    for (const char* sql :
         {"SELECT * FROM read_text('/etc/hostname')", "COPY host TO '/tmp/belay-escape.csv'",
          "SET enable_external_access = true", "INSTALL httpfs", "DROP VIEW host", "SELECT 1; SELECT 2",
          "ATTACH '/tmp/belay-escape.db'"}) {
        auto result = archive->query(sql);
        EXPECT_FALSE(result) << sql;
    }
    auto table = (tables_path(fixture.path()) / "host.parquet").string();
    std::string copy = "COPY (SELECT 666 AS x) TO " + sql_literal(table) + " (FORMAT parquet)";
    for (const char* before :
         {"", "EXPLAIN ", "EXPLAIN ANALYZE ", "EXPLAIN (ANALYZE, FORMAT json) ", "PREPARE p AS "})
        EXPECT_FALSE(archive->query(before + copy)) << before << ": nor change it";
    EXPECT_TRUE(archive->query("SELECT count(*) FROM host"));
    EXPECT_TRUE(archive->query("FROM host LIMIT 1"));
    EXPECT_TRUE(archive->query("DESCRIBE host"));
    EXPECT_TRUE(archive->query("SHOW TABLES"));
    EXPECT_TRUE(archive->query("SUMMARIZE host"));
    EXPECT_EQ(as_text(archive->query("SELECT TIMESTAMP '3000-01-01'")->rows[0][0]).substr(0, 7), "outside");
}

TEST(record, tables_of_our_own_stand_beside_the_records) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    ASSERT_TRUE(seal(fixture.path(), kStart));
    auto archive = Archive::open(fixture.path());
    static constexpr schema::Column kColumns[] = {{"time", schema::ColumnType::kTimestamp, "", ""},
                                                  {"node", schema::ColumnType::kText, "", ""},
                                                  {"share", schema::ColumnType::kReal, "", ""}};
    static constexpr schema::Table kOurs{"ours", schema::Cadence::kEvents, "", kColumns};
    for (double share : {0.25, 0.5}) {
        stream::Batch rows(kOurs);
        rows.add_row(kStart, "n1");
        rows.set(column(kOurs, "share"), share);
        ASSERT_TRUE(archive->add(kOurs, rows));
    }
    ASSERT_TRUE(
        archive->define("CREATE TABLE joined AS SELECT sum(share) AS s, count(load_1m) AS n "
                        "FROM ours JOIN host USING (node)"));
    EXPECT_THAT(archive->query("SELECT s, n FROM joined")->rows[0],
                testing::ElementsAre(Value(2.25), Value(int64_t{6})));
    stream::Batch host(schema::kHost);
    host.add_row(kStart, "n1");
    EXPECT_FALSE(archive->add(schema::kHost, host)) << "what is sealed stays as it is";
    EXPECT_THAT(archive->columns_of("SELECT node, share FROM ours").value(),
                testing::ElementsAre("node", "share"));
    EXPECT_FALSE(archive->columns_of("SELECT nobody FROM ours"));
}

TEST(record, an_archive_in_memory_has_every_table_and_no_files) {
    auto archive = Archive::in_memory();
    ASSERT_TRUE(archive) << archive.error().message();
    for (const schema::Table* table : schema::tables())
        EXPECT_TRUE(archive->query(fmt::format("SELECT time, node FROM \"{}\"", table->name)));
    EXPECT_FALSE(archive->query("SELECT * FROM read_text('/etc/hostname')"));
}

TEST(record, every_sql_type_has_a_plain_value) {
    RecordFixture fixture;
    QueryResult result =
        query(fixture.path(),
              "SELECT 1::TINYINT AS a, 2::UBIGINT AS b, sum(x)::HUGEINT AS c, 1.25::DECIMAL(9,3) AS d, "
              "[1,2] AS e, DATE '2026-01-02' AS \"f\"\"g\", NULL AS h, true AS i, 1e300::DOUBLE AS j, "
              "TIMESTAMPTZ '2026-01-02 00:00:00+00' AS k FROM (VALUES (9223372036854775807), (1)) t(x);");
    ASSERT_EQ(result.rows.size(), 1u);
    const auto& row = result.rows[0];
    EXPECT_EQ(std::get<int64_t>(row[0]), 1);
    EXPECT_EQ(std::get<int64_t>(row[1]), 2);
    EXPECT_EQ(std::get<double>(row[2]), 9223372036854775808.0);
    EXPECT_EQ(std::get<double>(row[3]), 1.25);
    EXPECT_EQ(as_text(row[4]), "[1, 2]");
    EXPECT_EQ(as_text(row[5]), "2026-01-02");
    EXPECT_EQ(result.columns[5], "f\"g");
    EXPECT_TRUE(std::holds_alternative<std::monostate>(row[6]));
    EXPECT_EQ(std::get<bool>(row[7]), true);
    EXPECT_EQ(std::get<double>(row[8]), 1e300);
    EXPECT_EQ(core::format_time(std::get<Time>(row[9])), "2026-01-02T00:00:00.000000Z");
}

TEST(record, a_query_runs_once_as_it_was_written) {
    auto database = Database::open();
    ASSERT_TRUE(database) << database.error().message();
    ASSERT_TRUE(database->execute("CREATE SEQUENCE counter"));
    auto counted = database->query("SELECT nextval('counter')::DECIMAL(9,1) AS n");
    ASSERT_TRUE(counted) << counted.error().message();
    EXPECT_EQ(counted->rows[0][0], Value(1.0));

    auto written =
        database->query("SELECT 1.5::DECIMAL(4,1) AS a, [1] AS a, 'it''s' AS b; -- a note; 'of ours\n;");
    ASSERT_TRUE(written) << written.error().message();
    EXPECT_THAT(written->columns, testing::ElementsAre("a", "a", "b"));
    EXPECT_THAT(written->rows[0], testing::ElementsAre(Value(1.5), Value("[1]"), Value("it's")));
}

TEST(record, texts_of_any_bytes_are_sealed_as_valid_ones) {
    RecordFixture fixture;
    const std::string node = "n\xff";
    {
        auto writer = stream::SegmentWriter::create(segments_path(fixture.path()) / "a.seg",
                                                    {.node = node, .start = kStart});
        ASSERT_TRUE(writer);
        stream::Batch events(schema::kEvent);
        events.add_row(kStart, node);
        events.set(column(schema::kEvent, "message"), "caf\xe9 ended");
        EXPECT_EQ(events.values(column(schema::kEvent, "message")).texts[0], "caf\uFFFD ended");
        events.add_row(kStart + seconds(1), node);
        events.set(column(schema::kEvent, "message"), "");
        events.values(column(schema::kEvent, "message")).texts[1] =
            "cut \xe2\x82";  // as somebody else's segment may say
        ASSERT_TRUE(writer->append(events));
        ASSERT_TRUE(writer->finish(kStart));
    }
    ASSERT_TRUE(seal(fixture.path(), kStart));
    QueryResult result = query(fixture.path(), "SELECT node, message FROM event ORDER BY time");
    ASSERT_EQ(result.rows.size(), 2u);
    EXPECT_EQ(as_text(result.rows[0][0]), "n\uFFFD");
    EXPECT_EQ(as_text(result.rows[0][1]), "caf\uFFFD ended");
    EXPECT_EQ(as_text(result.rows[1][1]), "cut \uFFFD\uFFFD");
}

TEST(record, wrong_sql_and_wrong_directories_are_the_persons_mistake) {
    RecordFixture fixture;
    auto archive = Archive::open(fixture.path());
    auto result = archive->query("SELECT lod_1m FROM host");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(result.error().message(), testing::HasSubstr("load_1m"));  // DuckDB's own suggestion
    auto missing = Archive::open(fixture.path() / "nowhere");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind(), core::ErrorKind::kBadInput);
    std::ofstream(manifest_path(fixture.path())) << "{\"schema\": 1,\n  oops}";
    auto broken = Archive::open(fixture.path());
    ASSERT_FALSE(broken);
    ASSERT_TRUE(broken.error().position());
    EXPECT_EQ(broken.error().position()->line, 2);
}

}  // namespace
}  // namespace belay::record
