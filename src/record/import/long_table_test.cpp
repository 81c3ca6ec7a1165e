#include "record/import/long_table.h"

#include "record/import/import_testing.h"
#include "schema/tables/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

// Rows of seconds `first` to `last` of a node.
stream::Batch batch_of(std::string_view node, int first, int last) {
    stream::Batch rows(schema::kGpu);
    for (int second = first; second <= last; ++second) {
        rows.add_row(core::Time(std::chrono::seconds(second)), node);
        rows.set(column(schema::kGpu, "power_watts"), second);
    }
    return rows;
}

TEST(record_import, a_table_of_several_parts_is_one_in_order) {
    auto directory = core::TemporaryDirectory::create("it's").value();
    std::filesystem::path parquet = directory.path() / "gpu.parquet";
    auto database = Database::open().value();
    ASSERT_TRUE(database.execute(create_table_sql(schema::kGpu)));
    ASSERT_TRUE(
        database.execute(fmt::format("COPY gpu TO {} (FORMAT parquet, KV_METADATA {{belay: 'its columns'}})",
                                     sql_literal(parquet.string()))));

    auto record = core::Directory::open(directory.path()).value();
    ASSERT_TRUE(record.make_directory("parts"));
    auto table = LongTable::create(schema::kGpu, record.enter("parts").value(), 200).value();
    constexpr int kRows = 300;  // more than a part has
    for (const char* node : {"a", "b"}) {
        ASSERT_TRUE(table.add(batch_of(node, 1, kRows)));
        ASSERT_TRUE(table.cut());
    }
    // In a part rows may be in any order.
    ASSERT_TRUE(table.add(batch_of("c", 3, 4)));
    ASSERT_TRUE(table.add(batch_of("c", 1, 2)));
    EXPECT_EQ(table.rows(), 2 * kRows + 4);
    EXPECT_TRUE(std::filesystem::exists(directory.path() / "parts/1.parquet"));
    ASSERT_TRUE(table.replace(record, "gpu.parquet"));

    auto query = [&](const std::string& sql) {
        return database.query(fmt::format(fmt::runtime(sql), sql_literal(parquet.string())))
            .value()
            .rows.at(0);
    };
    auto facts = query("SELECT count(*), sum(power_watts), count(DISTINCT node) FROM read_parquet({})");
    EXPECT_EQ(as_double(facts[0]), 2 * kRows + 4);
    EXPECT_EQ(as_double(facts[1]), double{kRows} * (kRows + 1) + 10);
    EXPECT_EQ(as_double(facts[2]), 3);
    auto disorder = query(
        "SELECT count(*) FROM (SELECT node || '/' || lpad(epoch(time)::BIGINT::VARCHAR, 9, '0') AS key, "
        "lag(key) OVER "
        "(ORDER BY file_row_number) AS before FROM read_parquet({}, file_row_number = true)) WHERE before > "
        "key");
    EXPECT_EQ(as_double(disorder[0]), 0);
    EXPECT_EQ(
        as_text(query("SELECT decode(value) FROM parquet_kv_metadata({}) WHERE decode(key) = 'belay'")[0]),
        "its columns");
    EXPECT_TRUE(std::filesystem::is_empty(directory.path() / "parts"));
}

}  // namespace
}  // namespace belay::record
