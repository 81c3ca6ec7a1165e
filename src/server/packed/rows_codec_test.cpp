#include "server/packed/rows_codec.h"

#include "schema/tables/filesystem.h"
#include "server/packed/packed_facts.h"
#include "server/packed/row_order.h"
#include "server/packed/testing.h"
#include "stream/column_codec.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace belay::server {
namespace {

const stream::WrittenTable& written_of(const schema::Table& table) {
    static const stream::WrittenSchema schema = own_schema_of(Tier::kRaw);
    for (const stream::WrittenTable& written : schema)
        if (written.table == &table) return written;
    throw std::logic_error("no such table");
}

constexpr int kLevel = 3;  // of zstd

// Whatever a table can hold.
stream::Batch any_rows(const schema::Table& table, size_t rows, std::mt19937_64& random) {
    stream::Batch batch(table);
    const uint64_t kind = random() % 6;
    for (size_t row = 0; row < rows; ++row) {
        batch.add_row(core::time_from_nanoseconds(static_cast<int64_t>(random())), "n");
        for (size_t i = 2; i < table.columns.size(); ++i) {
            if (random() % 4 == 0) continue;
            switch (table.columns[i].type) {
                case schema::ColumnType::kReal: {
                    const double numbers[] = {static_cast<double>(random() % 1000) / 1e4,
                                              std::bit_cast<double>(random()),
                                              -0.0,
                                              1e300,
                                              static_cast<double>(random()) * 1e7,
                                              0.1 + 0.2};
                    batch.set(i, numbers[(kind + (kind == 5 ? random() % 6 : 0)) % 6]);
                    break;
                }
                case schema::ColumnType::kText:
                    batch.set(i, std::string(random() % 5, static_cast<char>('a' + random() % 26)));
                    break;
                case schema::ColumnType::kBoolean:
                    batch.set(i, random() % 2 == 0);
                    break;
                default: {
                    const int64_t numbers[] = {static_cast<int64_t>(random() % 100) * 4096,
                                               static_cast<int64_t>(random()),
                                               std::numeric_limits<int64_t>::min(),
                                               std::numeric_limits<int64_t>::max(),
                                               -3,
                                               7};
                    const int64_t number = numbers[(kind + (kind == 5 ? random() % 6 : 0)) % 6];
                    if (table.columns[i].type == schema::ColumnType::kTimestamp)
                        batch.set(i, core::time_from_nanoseconds(number));
                    else
                        batch.set(i, number);
                }
            }
        }
    }
    return batch;
}

bool is_same_column(const stream::ColumnValues& a, const stream::ColumnValues& b) {
    const auto bits = [](const std::vector<double>& reals) {
        std::vector<uint64_t> all;
        for (const double real : reals) all.push_back(std::bit_cast<uint64_t>(real));
        return all;
    };
    return a.present == b.present && a.integers == b.integers && bits(a.reals) == bits(b.reals) &&
           a.texts == b.texts;
}

TEST(server_packed, rows_come_back_to_the_bit) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 60; ++round)
        for (const schema::Table* table : schema::tables()) {
            const stream::Batch batch = any_rows(*table, random() % 40, random);
            stream::Batch back(*table);
            const auto decoded = decode_packed_rows(encode_packed_rows(batch, kLevel), batch.rows(),
                                                    written_of(*table), WantedColumns::all(), back);
            ASSERT_TRUE(decoded) << decoded.error().message();
            ASSERT_EQ(back.rows(), batch.rows());
            for (size_t i = 0; i < table->columns.size(); ++i)
                ASSERT_TRUE(is_same_column(batch.values(i), back.values(i)))
                    << table->name << " " << table->columns[i].name << " round " << round;
        }
}

TEST(server_packed, columns_that_are_not_wanted_are_null) {
    std::mt19937_64 random(8);
    const stream::Batch batch = any_rows(schema::kGpu, 20, random);
    const size_t power = column(schema::kGpu, "power_watts");
    stream::Batch back(schema::kGpu);
    ASSERT_TRUE(decode_packed_rows(encode_packed_rows(batch, kLevel), batch.rows(), written_of(schema::kGpu),
                                   WantedColumns::only({power}), back));
    for (size_t i = 0; i < schema::kGpu.columns.size(); ++i) {
        const std::vector<uint8_t> none(batch.rows(), 0);
        EXPECT_EQ(back.values(i).present, i < 2 || i == power ? batch.values(i).present : none) << i;
    }
}

TEST(server_packed, what_was_rounded_takes_few_bytes) {
    std::mt19937_64 random(9);
    stream::Batch batch(schema::kGpu);
    for (int i = 0; i < 1000; ++i) {
        batch.add_row(testing::kPackedBegan + std::chrono::seconds(i), "n");
        batch.set(column(schema::kGpu, "sm_active_ratio"), static_cast<double>(random() % 100) / 1e4);
        batch.set(column(schema::kGpu, "nvlink_sent_bytes_per_second"),
                  static_cast<double>(random() % 60) * 1e7);
        batch.set(column(schema::kGpu, "memory_used_bytes"), (random() % 60) << 20);
    }
    const size_t columns = schema::kGpu.columns.size();
    // A byte or two for each of the three and for time; of the others one bit for each row.
    EXPECT_LT(encode_packed_rows(batch, kLevel).size(), 1000 * 8 + columns * (1000 / 8 + 40));
}

TEST(server_packed, a_writer_of_another_version_is_read_by_the_names_of_columns) {
    // As if the writer had known one column less and one that we do not know.
    stream::Batch batch(schema::kFilesystem);
    for (int i = 0; i < 5; ++i) {
        batch.add_row(testing::kPackedBegan, "n");
        batch.set(column(schema::kFilesystem, "name"), "sda");
        batch.set(column(schema::kFilesystem, "size_bytes"), i);
        batch.set(column(schema::kFilesystem, "free_bytes"), 7 * i);
    }
    stream::WrittenTable written = written_of(schema::kFilesystem);
    written.columns[column(schema::kFilesystem, "free_bytes")].index.reset();
    stream::Batch back(schema::kFilesystem);
    ASSERT_TRUE(
        decode_packed_rows(encode_packed_rows(batch, kLevel), 5, written, WantedColumns::all(), back));
    EXPECT_EQ(back.values(column(schema::kFilesystem, "free_bytes")).present, std::vector<uint8_t>(5, 0));
    EXPECT_EQ(back.values(column(schema::kFilesystem, "size_bytes")).integers[4], 4);
}

TEST(server_packed, damaged_rows_are_refused_or_read_whole) {
    std::mt19937_64 random(10);
    for (int round = 0; round < 400; ++round) {
        const schema::Table& table = *schema::tables()[random() % schema::tables().size()];
        const stream::Batch batch = any_rows(table, 1 + random() % 10, random);
        std::string payload = encode_packed_rows(batch, kLevel);
        for (int i = 0; i < 3; ++i) payload[random() % payload.size()] ^= static_cast<char>(random());
        if (random() % 3 == 0) payload.resize(random() % payload.size());
        stream::Batch back(table);
        if (!decode_packed_rows(payload, batch.rows(), written_of(table), WantedColumns::all(), back))
            continue;
        for (size_t i = 0; i < table.columns.size(); ++i)
            ASSERT_EQ(back.values(i).present.size(), batch.rows());
    }
}

}  // namespace
}  // namespace belay::server
