#include "record/archive/segment_rows.h"

#include "record/archive/archive.h"
#include "record/archive/testing.h"
#include "schema/tables/gpu.h"
#include "schema/tables/process.h"

#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr QueryLimits kInPlace{.loaded_values = 0};
constexpr QueryLimits kLoaded{.loaded_values = ~uint64_t{0}};

// Two recorders on each of some nodes, whose times meet, repeat and sometimes go back; `writer` says in what
// order rows were written.
void write_segments(const RecordFixture& fixture, std::mt19937_64& random, int segments) {
    auto record = core::Directory::open(fixture.path()).value();
    for (int i = 0; i < segments; ++i) {
        const std::string node = fmt::format("n{}", random() % 3);
        auto writer = new_segment(record, fmt::format("{}-{}.seg", node, i),
                                  {.node = node, .start = kStart, .interval = std::chrono::seconds(1)})
                          .value();
        core::Time time = kStart + milliseconds(random() % 2000);
        const bool goes_back = random() % 4 == 0;
        const bool tells_of_others = random() % 4 == 0;
        for (uint64_t block = 0; block < 1 + random() % 4; ++block) {
            stream::Batch gpus(schema::kGpu);
            stream::Batch processes(schema::kProcess);
            for (uint64_t row = 0; row < random() % 40; ++row) {
                time += milliseconds(random() % 3 * 500);
                if (goes_back && random() % 8 == 0) time -= milliseconds(random() % 3000);
                gpus.add_row(time, tells_of_others && random() % 3 == 0 ? "n1" : node);
                gpus.set(column(schema::kGpu, "device"), fmt::format("GPU-of-a-long-name-{}", random() % 4));
                if (random() % 3 != 0) gpus.set(column(schema::kGpu, "sm_active_ratio"), 0.001 * block);
                gpus.set(column(schema::kGpu, "memory_used_bytes"), static_cast<int64_t>(random() % 100));
                processes.add_row(time, node);
                if (random() % 2 == 0) processes.set(column(schema::kProcess, "command"), "python3");
                processes.set(column(schema::kProcess, "start_time"), time);
            }
            ASSERT_TRUE(writer.append(gpus));
            ASSERT_TRUE(writer.append(processes));
        }
        ASSERT_TRUE(writer.finish(time));
    }
}

std::vector<std::vector<Value>> rows(const fs::path& record, const QueryLimits& limits,
                                     const std::string& sql) {
    auto archive = Archive::open(record, {}, limits);
    EXPECT_TRUE(archive) << archive.error().message();
    auto result = archive->query(sql);
    EXPECT_TRUE(result) << result.error().message();
    return result.value_or(QueryResult{}).rows;
}

TEST(record, segments_read_in_place_give_what_loaded_ones_do) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
        std::mt19937_64 random(seed);
        RecordFixture fixture;
        write_segments(fixture, random, 1 + static_cast<int>(random() % 6));
        for (const std::string& table : {std::string("gpu"), std::string("process")}) {
            for (const std::string& sql :
                 {"SELECT count(*) FROM " + table, "SELECT * FROM " + table + " ORDER BY ALL",
                  "SELECT node, time FROM " + table,
                  "SELECT node, count(*) FROM " + table + " GROUP BY ALL ORDER BY ALL",
                  "SELECT count(*) FROM " + table + " a JOIN " + table + " b USING (node, time)"})
                EXPECT_EQ(rows(fixture.path(), kInPlace, sql), rows(fixture.path(), kLoaded, sql))
                    << "seed " << seed << ": " << sql;
            EXPECT_EQ(rows(fixture.path(), kInPlace, "SELECT node, time FROM " + table),
                      rows(fixture.path(), kLoaded, "SELECT node, time FROM " + table + " ORDER BY 1, 2"))
                << "seed " << seed << ": rows come in order of node and time";
        }
    }
}

TEST(record, what_is_known_of_tables_in_place_is_what_sql_says_of_them) {
    std::mt19937_64 random(7);
    RecordFixture fixture;
    write_segments(fixture, random, 5);
    auto in_place = Archive::open(fixture.path(), {}, kInPlace)->info().value();
    auto loaded = Archive::open(fixture.path(), {}, kLoaded)->info().value();
    for (const auto& [name, table] : loaded.tables) {
        EXPECT_EQ(in_place.tables[name].rows, table.rows) << name;
        EXPECT_EQ(in_place.tables[name].start, table.start) << name;
        EXPECT_EQ(in_place.tables[name].end, table.end) << name;
    }
    EXPECT_EQ(in_place.coverage, loaded.coverage);
}

TEST(record, parts_of_a_scan_in_place_hold_each_row_once) {
    std::mt19937_64 random(11);
    RecordFixture fixture;
    write_segments(fixture, random, 8);
    auto archive = Archive::open(fixture.path(), {}, kInPlace).value();
    ScanRequest request{.table = &schema::kGpu,
                        .numbers = {column(schema::kGpu, "memory_used_bytes")},
                        .texts = {column(schema::kGpu, "node")},
                        .splits = {"n1", "n2"}};
    std::vector<double> sums(3);
    std::vector<size_t> counts(3);
    ASSERT_TRUE(archive.scan(request, [&](size_t part, const ScanRows& rows) -> core::Result<> {
        for (size_t row = 0; row < rows.size(); ++row) {
            EXPECT_EQ(rows.text(0, row), fmt::format("n{}", part));
            sums[part] += rows.numbers(0)[row];
            ++counts[part];
        }
        return {};
    }));
    auto expected = rows(fixture.path(), kLoaded,
                         "SELECT sum(memory_used_bytes), count(*) FROM gpu GROUP BY node ORDER BY node");
    for (size_t part = 0; part < expected.size(); ++part) {
        EXPECT_EQ(sums[part], as_double(expected[part][0]));
        EXPECT_EQ(static_cast<double>(counts[part]), as_double(expected[part][1]));
    }
}

// Somebody seals it: the files are gone, what was opened is not.
TEST(record, a_record_read_in_place_outlives_its_segments) {
    std::mt19937_64 random(3);
    RecordFixture fixture;
    write_segments(fixture, random, 4);
    auto archive = Archive::open(fixture.path(), {}, kInPlace).value();
    auto before = archive.query("SELECT count(*), sum(memory_used_bytes) FROM gpu").value();
    ASSERT_TRUE(seal(fixture.path(), kStart));
    EXPECT_EQ(archive.query("SELECT count(*), sum(memory_used_bytes) FROM gpu").value().rows, before.rows);
}

TEST(record, a_segment_that_shrinks_while_it_is_read_in_place_is_told) {
    std::mt19937_64 random(3);
    RecordFixture fixture;
    write_segments(fixture, random, 4);
    auto archive = Archive::open(fixture.path(), {}, kInPlace).value();
    for (const auto& entry : fs::directory_iterator(segments_path(fixture.path())))
        fs::resize_file(entry.path(), entry.file_size() / 2);
    auto answer = archive.query("SELECT * FROM gpu");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind(), core::ErrorKind::kSystem);
    EXPECT_THAT(answer.error().render(), HasSubstr("is another than it was"));
    EXPECT_THAT(answer.error().render(), HasSubstr(".seg"));
}

TEST(record, sealing_in_place_writes_rows_in_order) {
    std::mt19937_64 random(5);
    RecordFixture fixture;
    write_segments(fixture, random, 6);
    auto before = rows(fixture.path(), kLoaded, "SELECT * FROM gpu ORDER BY ALL");
    ASSERT_TRUE(seal(fixture.path(), kStart));
    EXPECT_EQ(query(fixture.path(), "SELECT * FROM gpu ORDER BY ALL").rows, before);
    auto order = query(fixture.path(), "SELECT node, time FROM gpu").rows;
    EXPECT_TRUE(std::ranges::is_sorted(order));
}

}  // namespace
}  // namespace belay::record
