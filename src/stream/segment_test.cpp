#include "stream/segment.h"

#include "core/file.h"
#include "schema/tables/event.h"
#include "schema/tables/host.h"
#include "schema/tables/process.h"
#include "stream/block_encoder.h"
#include "stream/column_codec.h"
#include "stream/segment_format.h"

#include <csignal>
#include <fstream>
#include <random>
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stream {
namespace {

namespace fs = std::filesystem;
using core::Time;

const Time kStart = core::time_from_nanoseconds(1'700'000'000'000'000'001);

// Random rows of a table: nulls, extremes, repeated and long texts.
Batch random_batch(const schema::Table& table, std::mt19937_64& random, size_t rows) {
    Batch batch(table);
    for (size_t row = 0; row < rows; ++row) {
        batch.add_row(core::time_from_nanoseconds(static_cast<int64_t>(random())),
                      random() % 2 == 0 ? "n1" : "n2");
        for (size_t i = 2; i < table.columns.size(); ++i) {
            if (random() % 4 == 0) continue;
            switch (table.columns[i].type) {
                case schema::ColumnType::kText:
                    batch.set(i, std::string(random() % 40, static_cast<char>(random())));
                    break;
                case schema::ColumnType::kReal:
                    batch.set(i, static_cast<double>(static_cast<int64_t>(random())) / 7);
                    break;
                case schema::ColumnType::kBoolean:
                    batch.set(i, random() % 2 == 0);
                    break;
                case schema::ColumnType::kTimestamp:
                    batch.set(i, core::time_from_nanoseconds(static_cast<int64_t>(random())));
                    break;
                case schema::ColumnType::kInteger:
                    batch.set(i, static_cast<int64_t>(random()));
                    break;
            }
        }
    }
    return batch;
}

bool same(const Batch& a, const Batch& b) {
    if (&a.table() != &b.table() || a.rows() != b.rows()) return false;
    for (size_t i = 0; i < a.table().columns.size(); ++i)
        if (a.values(i).present != b.values(i).present || a.values(i).integers != b.values(i).integers ||
            a.values(i).reals != b.values(i).reals || a.values(i).texts != b.values(i).texts)
            return false;
    return true;
}

// A segment of `blocks` batches in memory, with the batches and the offset at which each block ends.
struct Example {
    std::string bytes;
    std::vector<Batch> batches;
    std::vector<size_t> ends;
};

Example make_example(size_t blocks, bool finish, uint64_t seed = 1) {
    auto directory = core::TemporaryDirectory::create("segment_test").value();
    fs::path path = directory.path() / "a.seg";
    std::mt19937_64 random(seed);
    Example example;
    Session session{.node = "n1", .task = 3, .start = kStart, .interval = std::chrono::seconds(1)};
    auto writer = SegmentWriter::create(path, session).value();
    for (size_t i = 0; i < blocks; ++i) {
        example.batches.push_back(
            random_batch(*schema::tables()[random() % schema::tables().size()], random, 1 + random() % 20));
        EXPECT_TRUE(writer.append(example.batches.back()));
        example.ends.push_back(writer.bytes());
    }
    if (finish) {
        EXPECT_TRUE(writer.finish(kStart));
    }
    example.bytes = core::read_file(path).value();
    return example;
}

std::vector<Batch> read(std::string_view bytes, SegmentSummary& summary) {
    std::vector<Batch> batches;
    summary =
        read_segment_bytes(bytes, "a.seg", [&](const Batch& batch) { batches.push_back(batch); }).value();
    return batches;
}

TEST(stream, segments_give_back_what_was_written) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
        Example example = make_example(8, true, seed);
        SegmentSummary summary;
        auto batches = read(example.bytes, summary);
        ASSERT_EQ(batches.size(), example.batches.size());
        for (size_t i = 0; i < batches.size(); ++i) EXPECT_TRUE(same(batches[i], example.batches[i])) << seed;
        EXPECT_TRUE(summary.whole());
        EXPECT_EQ(summary.bytes, example.bytes.size());
        ASSERT_TRUE(summary.session);
        EXPECT_EQ(summary.session->node, "n1");
        EXPECT_EQ(summary.session->task, 3);
        EXPECT_EQ(summary.session->start, kStart);
        EXPECT_EQ(summary.ended, kStart);
    }
}

TEST(stream, a_segment_cut_anywhere_gives_every_whole_block) {
    Example example = make_example(6, false);
    auto near_border = [&](size_t cut) {
        return std::ranges::any_of(example.ends,
                                   [&](size_t end) { return cut + 5 >= end && cut <= end + 35; });
    };
    for (size_t cut = 0; cut < example.bytes.size(); ++cut) {
        if (cut % 29 != 0 && !near_border(cut)) continue;
        SegmentSummary summary;
        auto batches = read(std::string_view(example.bytes).substr(0, cut), summary);
        auto whole =
            static_cast<size_t>(std::ranges::count_if(example.ends, [&](size_t end) { return end <= cut; }));
        EXPECT_EQ(batches.size(), whole) << cut;
        bool at_border = std::ranges::find(example.ends, cut) != example.ends.end();
        if (at_border) {
            EXPECT_TRUE(summary.lost.empty()) << cut;
        }
        if (!at_border && whole > 0) {
            EXPECT_EQ(summary.lost.size(), 1u) << cut;
        }
    }
}

TEST(stream, one_damaged_byte_costs_at_most_its_block) {
    Example example = make_example(5, true);
    std::mt19937_64 random(2);
    for (size_t at = kFileHeaderBytes; at < example.bytes.size(); at += 1 + random() % 40) {
        std::string damaged = example.bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
        SegmentSummary summary;
        auto batches = read(damaged, summary);
        EXPECT_GE(batches.size() + 1, example.batches.size()) << at;
        EXPECT_EQ(summary.lost.size(), 1u) << at;
    }
}

TEST(stream, a_foreign_tail_is_named_and_left_out) {
    Example example = make_example(3, true);
    for (const std::string& tail :
         {std::string(4096, '\0'), std::string("#!/bin/sh\necho BBLKBBLK\n"), std::string("B")}) {
        SegmentSummary summary;
        EXPECT_EQ(read(example.bytes + tail, summary).size(), 3u);
        ASSERT_EQ(summary.lost.size(), 1u);
        EXPECT_EQ(summary.lost[0].offset, example.bytes.size());
        EXPECT_EQ(summary.lost[0].bytes, tail.size());
        EXPECT_TRUE(summary.ended);
    }
}

TEST(stream, blocks_after_a_foreign_middle_are_found) {
    Example example = make_example(3, true);
    std::string bytes = example.bytes;
    bytes.insert(example.ends[0], "something else wrote here");
    SegmentSummary summary;
    EXPECT_EQ(read(bytes, summary).size(), 3u);
    ASSERT_EQ(summary.lost.size(), 1u);
    EXPECT_EQ(summary.lost[0].bytes, 25u);
}

TEST(stream, a_full_disk_leaves_whole_blocks_and_a_usable_writer) {
    auto directory = core::TemporaryDirectory::create("segment_test").value();
    fs::path path = directory.path() / "a.seg";
    auto writer = SegmentWriter::create(path, {.node = "n1", .start = kStart}).value();
    std::mt19937_64 random(3);
    Batch batch = random_batch(schema::kProcess, random, 200);
    ASSERT_TRUE(writer.append(batch));

    // A limit on the file size fails a write in its middle, as a full disk does.
    rlimit old{};
    getrlimit(RLIMIT_FSIZE, &old);
    auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit tight{.rlim_cur = writer.bytes() + 100, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);
    auto failed = writer.append(batch);
    setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, old_handler);

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind(), core::ErrorKind::kSystem);
    EXPECT_EQ(fs::file_size(path), writer.bytes());
    ASSERT_TRUE(writer.append(batch));
    size_t batches = 0;
    auto summary =
        read_segment(path, [&](const Batch& read_back) { batches += same(read_back, batch) ? 1 : 0; });
    ASSERT_TRUE(summary);
    EXPECT_EQ(batches, 2u);
    EXPECT_TRUE(summary->lost.empty());
}

TEST(stream, a_segment_of_another_schema_is_matched_by_names) {
    // A newer writer's segment: a column and a table that we do not know, and one column less.
    Example example = make_example(1, false);
    std::string bytes = example.bytes.substr(0, kFileHeaderBytes);
    auto add_block = [&](BlockKind kind, uint32_t rows, uint16_t table, const std::string& payload) {
        auto header = encode_block_header({.kind = kind,
                                           .table = table,
                                           .rows = rows,
                                           .stored_bytes = static_cast<uint32_t>(payload.size()),
                                           .raw_bytes = static_cast<uint32_t>(payload.size()),
                                           .payload_crc = checksum(payload)});
        bytes.append(header.data(), header.size());
        bytes += payload;
    };
    add_block(
        kSessionBlock, 0, 0,
        R"({"node":"n9","task":null,"periodic":true,"start":5,"interval":1,"flush":1,"version":"9","tables":[
                  {"name":"future","columns":[["time","TIMESTAMP"]]},
                  {"name":"event","columns":[["time","TIMESTAMP"],["mood","DOUBLE"],["node","VARCHAR"]]}]})");
    std::string zero_time("\0\2", 2);  // no nulls, then one varint: 1 ns
    add_block(kRowsBlock, 1, 0, "\1" + zero_time);
    add_block(kRowsBlock, 1, 1,
              "\3" + zero_time + std::string("\0", 1) + std::string(8, '\0') + std::string("\0\1\2n9\0", 6));
    SegmentSummary summary;
    auto batches = read(bytes, summary);
    ASSERT_TRUE(summary.lost.empty()) << summary.lost[0].reason;
    ASSERT_EQ(batches.size(), 1u);
    EXPECT_EQ(&batches[0].table(), &schema::kEvent);
    EXPECT_EQ(batches[0].values(column(schema::kEvent, "node")).texts[0], "n9");
    EXPECT_EQ(batches[0].values(column(schema::kEvent, "message")).present[0], 0);
    EXPECT_EQ(summary.session->version, "9");
    EXPECT_TRUE(summary.left_out);
    EXPECT_FALSE(summary.whole());
}

TEST(stream, blocks_made_without_a_file_are_a_segment) {
    const Session session{.node = "n1",
                          .start = kStart,
                          .cluster = "alps",
                          .boot = "b00t",
                          .source = "agent",
                          .began = kStart - std::chrono::seconds(5),
                          .first_block = 41};
    std::mt19937_64 random(7);
    const Batch batch = random_batch(schema::kHost, random, 20);
    std::string bytes = encode_head(session);
    uint32_t sequence = 1;
    for (const RowsPayload& part : encode_rows(batch)) bytes += encode_rows_block(part, sequence++);
    bytes += encode_end(kStart, sequence);
    SegmentSummary summary;
    auto batches = read(bytes, summary);
    ASSERT_EQ(batches.size(), 1u);
    EXPECT_TRUE(same(batches[0], batch));
    EXPECT_TRUE(summary.ended);
    ASSERT_TRUE(summary.session);
    EXPECT_EQ(summary.session->stream(), session.stream());
    EXPECT_EQ(summary.session->first_block, 41u);
}

TEST(stream, a_segment_from_before_streams_names_none) {
    std::string payload =
        R"({"node":"n9","task":null,"periodic":true,"start":5,"interval":1,"flush":1,"version":"0.2.0","tables":[]})";
    auto header = encode_block_header({.kind = kSessionBlock,
                                       .stored_bytes = static_cast<uint32_t>(payload.size()),
                                       .raw_bytes = static_cast<uint32_t>(payload.size()),
                                       .payload_crc = checksum(payload)});
    std::string bytes = make_example(0, false).bytes.substr(0, kFileHeaderBytes);
    bytes.append(header.data(), header.size()).append(payload);
    SegmentSummary summary;
    read(bytes, summary);
    ASSERT_TRUE(summary.session);
    EXPECT_EQ(summary.session->stream(), (StreamId{"", "n9", "", "", summary.session->start}));
    EXPECT_EQ(summary.session->first_block, 0u);
}

TEST(stream, a_file_gives_what_its_bytes_give) {
    auto directory = core::TemporaryDirectory::create("segment_test").value();
    const fs::path path = directory.path() / "a.seg";
    for (uint64_t seed = 0; seed < 20; ++seed) {
        Example example = make_example(400, true, seed);  // more than one window of the file
        std::mt19937_64 random(seed);
        for (int i = 0; i < 5; ++i)
            example.bytes[random() % example.bytes.size()] ^= static_cast<char>(1 + random() % 255);
        std::ofstream(path) << example.bytes;
        SegmentSummary wanted;
        auto batches = read(example.bytes, wanted);
        size_t next = 0;
        auto got =
            read_segment(path, [&](const Batch& batch) { EXPECT_TRUE(same(batch, batches.at(next++))); });
        ASSERT_TRUE(got);
        EXPECT_EQ(next, batches.size());
        EXPECT_EQ(got->lost.size(), wanted.lost.size());
    }
}

TEST(stream, a_batch_with_more_text_than_a_block_takes_is_read_back) {
    auto directory = core::TemporaryDirectory::create("segment_test").value();
    fs::path path = directory.path() / "a.seg";
    auto writer = SegmentWriter::create(path, {.node = "n1", .start = kStart}).value();
    Batch batch(schema::kEvent);
    std::string text(1 << 20, 'x');
    constexpr size_t kRows = kMaxBlockTextBytes / (1 << 20) + 3;
    for (size_t i = 0; i < kRows; ++i) {
        batch.add_row(kStart, "n1");
        batch.set(column(schema::kEvent, "message"), text);
    }
    ASSERT_TRUE(writer.append(batch));
    size_t rows = 0;
    auto summary = read_segment(path, [&](const Batch& part) { rows += part.rows(); });
    EXPECT_EQ(rows, kRows);
    EXPECT_TRUE(summary->lost.empty());
}

TEST(stream, a_batch_of_any_size_is_read_back) {
    auto directory = core::TemporaryDirectory::create("segment_test").value();
    fs::path path = directory.path() / "a.seg";
    auto writer = SegmentWriter::create(path, {.node = "n1", .start = kStart}).value();
    Batch batch(schema::kEvent);
    constexpr size_t kRows = 2 * kMaxBlockRows + 3;
    for (size_t i = 0; i < kRows; ++i) {
        batch.add_row(kStart, "n1");
        batch.set(column(schema::kEvent, "task"), static_cast<int64_t>(i));
    }
    ASSERT_TRUE(writer.append(batch));
    int64_t next = 0;
    auto summary = read_segment(path, [&](const Batch& part) {
        for (int64_t task : part.values(column(schema::kEvent, "task")).integers) EXPECT_EQ(task, next++);
    });
    EXPECT_EQ(next, static_cast<int64_t>(kRows));
    EXPECT_TRUE(summary->lost.empty());
}

}  // namespace
}  // namespace belay::stream
