#include "record/archive/scan.h"

#include "core/file.h"
#include "record/archive/testing.h"
#include "schema/tables/gpu.h"

#include <cmath>
#include <fstream>

#include <gmock/gmock.h>

namespace belay::record {

namespace {

constexpr size_t kLoad = column(schema::kHost, "load_1m");
constexpr size_t kMemory = column(schema::kHost, "memory_total_bytes");
constexpr size_t kCpus = column(schema::kHost, "cpu_count");  // which the fixture leaves out

struct Seen {
    std::string node;
    core::Time time;
    double load;
    double memory;
    double cpus;
};

std::vector<std::vector<Seen>> scan_host(Archive& archive, std::vector<std::string> splits) {
    std::vector<std::vector<Seen>> parts(splits.size() + 1);
    ScanRequest request{.table = &schema::kHost,
                        .numbers = {kLoad, kMemory, kCpus},
                        .texts = {1},
                        .hashes = {1},
                        .splits = std::move(splits)};
    auto done = archive.scan(request, [&](size_t part, const ScanRows& rows) -> core::Result<> {
        for (size_t i = 0; i < rows.size(); ++i)
            parts[part].push_back({std::string(rows.text(0, i)), rows.time(i), rows.numbers(0)[i],
                                   rows.numbers(1)[i], rows.numbers(2)[i]});
        EXPECT_EQ(rows.hashes(0)[0] == rows.hashes(0)[rows.size() - 1],
                  rows.text(0, 0) == rows.text(0, rows.size() - 1));
        return {};
    });
    EXPECT_TRUE(done) << done.error().message();
    return parts;
}

void expect_all_in_order(const std::vector<Seen>& part, const std::string& node, size_t count) {
    ASSERT_EQ(part.size(), count);
    for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(part[i].node, node);
        EXPECT_EQ(part[i].time, core::time_from_nanoseconds(core::to_nanoseconds(kStart) / 1000 * 1000) +
                                    std::chrono::seconds(i + 1));
        EXPECT_EQ(part[i].load, static_cast<double>(i + 1) * 0.5);
        EXPECT_EQ(part[i].memory, 0x1p40);
        EXPECT_TRUE(std::isnan(part[i].cpus));
    }
}

}  // namespace

TEST(record, scan_reads_parts_in_order_sealed_or_not) {
    RecordFixture fixture;
    fixture.record("n2", 5000, true, 5000);  // more than a chunk
    fixture.record("n1", 3, true, 3);
    for (bool sealed : {false, true}) {
        if (sealed) {
            ASSERT_TRUE(seal(fixture.path(), kStart));
        }
        auto archive = Archive::open(fixture.path());
        ASSERT_TRUE(archive);
        auto parts = scan_host(*archive, {"n2"});
        expect_all_in_order(parts[0], "n1", 3);
        expect_all_in_order(parts[1], "n2", 5000);
        EXPECT_EQ(scan_host(*archive, {})[0].size(), 5003U);
    }
}

TEST(record, scan_of_an_empty_table_consumes_nothing) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    ASSERT_TRUE(seal(fixture.path(), kStart));
    auto archive = Archive::open(fixture.path());
    ASSERT_TRUE(archive);
    bool called = false;
    ScanRequest request{.table = &schema::kGpu,
                        .numbers = {column(schema::kGpu, "sm_active_ratio")},
                        .texts = {},
                        .hashes = {},
                        .splits = {}};
    EXPECT_TRUE(archive->scan(request, [&](size_t, const ScanRows&) -> core::Result<> {
        called = true;
        return {};
    }));
    EXPECT_FALSE(called);
}

TEST(record, scan_ends_with_the_error_of_its_consumer) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    ASSERT_TRUE(seal(fixture.path(), kStart));
    auto archive = Archive::open(fixture.path());
    ASSERT_TRUE(archive);
    ScanRequest request{.table = &schema::kHost, .numbers = {kLoad}, .texts = {}, .hashes = {}, .splits = {}};
    auto done = archive->scan(
        request, [](size_t, const ScanRows&) -> core::Result<> { return core::bad_input("enough"); });
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), testing::HasSubstr("enough"));
}

TEST(record, a_file_older_than_a_column_has_null_there) {
    RecordFixture fixture;
    fixture.record("n1", 3, true, 3);
    ASSERT_TRUE(seal(fixture.path(), kStart));
    auto file = (tables_path(fixture.path()) / "host.parquet").string();
    auto database = Database::open().value();
    ASSERT_TRUE(
        database.execute(fmt::format("CREATE TABLE h AS SELECT * EXCLUDE (memory_total_bytes) FROM "
                                     "read_parquet({0}); COPY h TO {0} (FORMAT parquet)",
                                     sql_literal(file))));
    auto answer =
        query(fixture.path(), "SELECT count(*), count(memory_total_bytes), count(load_1m) FROM host");
    EXPECT_EQ(as_double(answer.rows.at(0)[0]), 3);
    EXPECT_EQ(as_double(answer.rows.at(0)[1]), 0);
    EXPECT_EQ(as_double(answer.rows.at(0)[2]), 3);
    auto archive = Archive::open(fixture.path());
    ASSERT_TRUE(archive);
    auto parts = scan_host(*archive, {});
    ASSERT_EQ(parts[0].size(), 3U);
    EXPECT_TRUE(std::isnan(parts[0][0].memory));
    EXPECT_EQ(parts[0][0].load, 0.5);
}

TEST(record, scan_tells_a_damaged_file) {
    RecordFixture fixture;
    fixture.record("n1", 5000, true, 5000);
    ASSERT_TRUE(seal(fixture.path(), kStart));
    auto file = tables_path(fixture.path()) / "host.parquet";
    {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekp(64);
        stream << std::string(4000, '\xa5');
    }
    auto archive = Archive::open(fixture.path());
    ASSERT_TRUE(archive);
    ScanRequest request{
        .table = &schema::kHost, .numbers = {kLoad, kMemory}, .texts = {}, .hashes = {}, .splits = {}};
    auto done = archive->scan(request, [](size_t, const ScanRows&) -> core::Result<> { return {}; });
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), testing::HasSubstr("host.parquet"));
}

}  // namespace belay::record
