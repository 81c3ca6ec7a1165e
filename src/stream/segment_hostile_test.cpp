// Segments whose checksums are right and whose content lies.
#include "core/file.h"
#include "schema/tables/event.h"
#include "schema/tables/host.h"
#include "stream/column_codec.h"
#include "stream/segment.h"
#include "stream/segment_format.h"

#include <algorithm>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <unistd.h>

#include <gtest/gtest.h>
#include <zstd.h>

namespace belay::stream {
namespace {

namespace fs = std::filesystem;

const core::Time kStart = core::time_from_nanoseconds(1'700'000'000'000'000'001);

struct Example {
    std::string bytes;
};

// A segment with a session and `blocks` blocks of events.
Example make_example(size_t blocks, bool finish) {
    auto directory = core::TemporaryDirectory::create("segment_test").value();
    const fs::path path = directory.path() / "a.seg";
    auto writer = SegmentWriter::create(path, {.node = "n1", .start = kStart}).value();
    Batch batch(schema::kEvent);
    batch.add_row(kStart, "n1");
    for (size_t i = 0; i < blocks; ++i) EXPECT_TRUE(writer.append(batch));
    if (finish) {
        EXPECT_TRUE(writer.finish(kStart));
    }
    return {core::read_file(path).value()};
}

std::vector<Batch> read(std::string_view bytes, SegmentSummary& summary) {
    std::vector<Batch> batches;
    summary =
        read_segment_bytes(bytes, "a.seg", [&](const Batch& batch) { batches.push_back(batch); }).value();
    return batches;
}

TEST(stream, hostile_blocks_are_refused) {
    // Whole and well-checked headers around payloads that lie.
    Example example = make_example(1, false);
    std::mt19937_64 random(4);
    for (int round = 0; round < 500; ++round) {
        std::string payload(random() % 64, '\0');
        for (char& c : payload) c = static_cast<char>(random() % 8 == 0 ? 0xff : random() % 36);
        auto kind = static_cast<uint8_t>(1 + random() % 3);
        auto header = encode_block_header(
            {.kind = kind,
             .table = static_cast<uint16_t>(random() % 10),
             .rows = static_cast<uint32_t>(random() % 3 == 0 ? kMaxBlockRows : random() % 4),
             .stored_bytes = static_cast<uint32_t>(payload.size()),
             .raw_bytes = static_cast<uint32_t>(payload.size()),
             .payload_crc = checksum(payload)});
        std::string bytes = example.bytes + std::string(header.data(), header.size()) + payload;
        SegmentSummary summary;
        auto batches = read(bytes, summary);
        size_t refused = summary.lost.size();
        EXPECT_LE(batches.size() + refused, 2u);
        if (kind != kRowsBlock) {
            EXPECT_EQ(refused, 1u);
        }
    }
}

TEST(stream, one_text_named_by_every_row_is_bounded) {
    // What is 16 KiB in the file would be 512 MiB in memory, and could be terabytes.
    Example example = make_example(0, false);
    Batch event(schema::kEvent);
    constexpr uint32_t kRows = kMaxBlockRows;
    for (uint32_t i = 0; i < kRows; ++i) event.add_row(kStart, "n1");
    std::string payload;
    put_varint(payload, schema::kEvent.columns.size());
    for (size_t i = 0; i < schema::kEvent.columns.size(); ++i) {
        if (i != column(schema::kEvent, "message")) {
            encode_column(schema::kEvent.columns[i].type, event.values(i), kRows, payload);
            continue;
        }
        payload.push_back(0);  // no row is null
        put_varint(payload, 1);
        put_varint(payload, 8192);
        payload += std::string(8192, 'x') + std::string(kRows, '\0');
    }
    auto index = static_cast<uint16_t>(std::ranges::find(schema::tables(), &schema::kEvent) -
                                       schema::tables().begin());
    auto header = encode_block_header({.kind = kRowsBlock,
                                       .table = index,
                                       .rows = kRows,
                                       .stored_bytes = static_cast<uint32_t>(payload.size()),
                                       .raw_bytes = static_cast<uint32_t>(payload.size()),
                                       .payload_crc = checksum(payload)});
    SegmentSummary summary;
    EXPECT_TRUE(read(example.bytes + std::string(header.data(), header.size()) + payload, summary).empty());
    ASSERT_EQ(summary.lost.size(), 1u);
    EXPECT_EQ(summary.lost[0].reason, "more text than a block may hold");
}

// Appends a block with correct checksums; zeros pack to almost nothing.
void add_packed(std::string& bytes, BlockKind kind, uint16_t table, uint32_t rows,
                const std::string& payload) {
    std::string stored(ZSTD_compressBound(payload.size()), '\0');
    stored.resize(ZSTD_compress(stored.data(), stored.size(), payload.data(), payload.size(), 19));
    auto header = encode_block_header({.kind = kind,
                                       .compression = kZstd,
                                       .table = table,
                                       .rows = rows,
                                       .stored_bytes = static_cast<uint32_t>(stored.size()),
                                       .raw_bytes = static_cast<uint32_t>(payload.size()),
                                       .payload_crc = checksum(stored)});
    bytes.append(header.data(), header.size());
    bytes += stored;
}

// Every row of every column names the same text of 4 KiB.
std::string repeated_text_payload() {
    std::string payload;
    put_varint(payload, schema::kEvent.columns.size());
    for (const schema::Column& column : schema::kEvent.columns) {
        payload.push_back(column.type == schema::ColumnType::kText ? 0 : 1);
        if (column.type != schema::ColumnType::kText) {
            payload.append(kMaxBlockRows / 8, '\0');
            continue;
        }
        put_varint(payload, 1);
        put_varint(payload, 4096);
        payload += std::string(4096, 'x') + std::string(kMaxBlockRows, '\0');
    }
    return payload;
}

TEST(stream, the_texts_of_all_columns_of_a_block_are_bounded_together) {
    Example example = make_example(0, false);
    auto table = static_cast<uint16_t>(std::ranges::find(schema::tables(), &schema::kEvent) -
                                       schema::tables().begin());
    add_packed(example.bytes, kRowsBlock, table, kMaxBlockRows, repeated_text_payload());
    SegmentSummary summary;
    EXPECT_TRUE(read(example.bytes, summary).empty());
    ASSERT_EQ(summary.lost.size(), 1U);
    EXPECT_EQ(summary.lost[0].reason, "more text than a block may hold");
}

// Blocks of rows in which nothing is known: each takes 150 bytes and becomes megabytes.
void add_empty_rows(std::string& bytes, int blocks) {
    const auto host =
        static_cast<uint16_t>(std::ranges::find(schema::tables(), &schema::kHost) - schema::tables().begin());
    std::string payload;
    put_varint(payload, schema::kHost.columns.size());
    for (const schema::Column& column : schema::kHost.columns) {
        payload += '\1' + std::string(kMaxBlockRows / 8, '\0');
        if (column.type == schema::ColumnType::kText) payload += '\0';  // no texts
    }
    for (int i = 0; i < blocks; ++i) add_packed(bytes, kRowsBlock, host, kMaxBlockRows, payload);
}

TEST(stream, a_segment_unpacks_to_no_more_than_its_budget) {
    Example example = make_example(0, false);
    constexpr int kBlocks = 100;
    add_empty_rows(example.bytes, kBlocks);
    uint64_t values = 0;
    const auto summary = read_segment_bytes(example.bytes, "a.seg", [&](const Batch& batch) {
                             values += batch.rows() * batch.table().columns.size();
                         }).value();
    const uint64_t budget = kUnpackedFloor + kUnpackedRatio * example.bytes.size();
    ASSERT_LT(budget, uint64_t{kBlocks} * kMaxBlockRows * schema::kHost.columns.size() * 8)
        << "or the test tests nothing";
    EXPECT_LE(values * 8, budget);
    EXPECT_GT(values, 0U) << "what fits is read";
    ASSERT_FALSE(summary.lost.empty());
    EXPECT_EQ(summary.lost.back().reason, "decompresses to more than any recorder writes");
    EXPECT_FALSE(summary.whole());
}

TEST(stream, blocks_without_rows_are_small_and_shallow) {
    Example example = make_example(0, false);
    std::string bytes = example.bytes;
    add_packed(bytes, kSessionBlock, 0, 0, std::string(kMaxJsonBytes + 1, ' '));
    add_packed(bytes, kEndBlock, 0, 0, std::string(200'000, '[') + std::string(200'000, ']'));
    SegmentSummary summary;
    read(bytes, summary);
    EXPECT_EQ(summary.lost.size(), 2U);
    EXPECT_FALSE(summary.ended);
}

// The floor is there once for a record, however many files it has and however long they are.
TEST(stream, all_segments_of_a_record_have_one_budget) {
    auto directory = core::TemporaryDirectory::create("segment_test").value();
    Example example = make_example(0, false);
    const size_t before = example.bytes.size();
    add_empty_rows(example.bytes, 3);
    const uint64_t rows_bytes = example.bytes.size() - before;
    uint64_t values = 0;
    UnpackBudget budget;
    constexpr uint64_t kFiles = 10;
    for (uint64_t i = 0; i < kFiles; ++i) {
        const fs::path path = directory.path() / fmt::format("{}.seg", i);
        std::ofstream(path) << example.bytes;
        std::error_code error;
        fs::resize_file(path, uint64_t{1} << 40, error);
        if (error) GTEST_SKIP() << "the file system has no files of this size: " << error.message();
        const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        ASSERT_GE(fd, 0);
        auto reader = SegmentReader::open(fd, path, budget);
        ASSERT_TRUE(reader) << reader.error().message();
        while (const Batch* batch = reader->next().value())
            values += batch->rows() * batch->table().columns.size();
        close(fd);
    }
    const uint64_t limit = kUnpackedFloor + kFiles * kUnpackedRatio * rows_bytes;
    ASSERT_LT(limit, kFiles * 3 * kMaxBlockRows * schema::kHost.columns.size() * 8)
        << "or the test tests nothing";
    EXPECT_LE(values * 8, limit);
}

// Nothing of it is on the disk but the ends.
TEST(stream, a_segment_of_terabytes_of_nothing_is_read_at_once) {
    auto directory = core::TemporaryDirectory::create("segment_test").value();
    const fs::path path = directory.path() / "a.seg";
    Example example = make_example(2, true);
    std::ofstream(path) << example.bytes;
    std::error_code error;
    fs::resize_file(path, uint64_t{1} << 42, error);
    if (error) GTEST_SKIP() << "the file system has no files of this size: " << error.message();
    size_t batches = 0;
    auto summary = read_segment(path, [&](const Batch&) { ++batches; });
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(batches, 2U);
    ASSERT_EQ(summary->lost.size(), 1U);
    EXPECT_EQ(summary->lost[0].offset, example.bytes.size());
}

}  // namespace
}  // namespace belay::stream
