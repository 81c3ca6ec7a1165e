#include "stream/spool_reader.h"

#include "core/file.h"
#include "schema/tables/event.h"
#include "stream/block_encoder.h"
#include "stream/segment_format.h"
#include "stream/spool.h"

#include <fcntl.h>
#include <fstream>
#include <random>
#include <sys/file.h>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stream {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const core::Time kBegan = core::time_from_nanoseconds(1'700'000'000'000'000'000);

Session session_of(uint64_t first_block = 0) {
    return {.node = "n1",
            .start = kBegan,
            .boot = "b",
            .source = "agent",
            .began = kBegan,
            .first_block = first_block};
}

Batch one_row(int64_t number) {
    Batch batch(schema::kEvent);
    batch.add_row(kBegan, "n1");
    batch.set(column(schema::kEvent, "task"), number);
    return batch;
}

// A file with the rows `from` ... `to` - 1, each a block, whose numbers are those of the blocks.
std::string file_of(int64_t from, int64_t to) {
    const auto first = static_cast<uint64_t>(from - 1);
    std::string bytes = encode_head(session_of(first));
    for (int64_t i = from; i < to; ++i)
        for (const RowsPayload& part : encode_rows(one_row(i)))
            bytes += encode_rows_block(part, static_cast<uint32_t>(static_cast<uint64_t>(i) - first));
    return bytes;
}

class Spool {
  public:
    explicit Spool() : reader_(SpoolReader::open(place_.path()).value()) {}
    void put(uint64_t first_block, std::string_view bytes) const {
        std::ofstream(place_.path() / spool_file_name(session_of().stream(), first_block)) << bytes;
    }
    fs::path path() const { return place_.path(); }
    SpoolReader& reader() { return reader_; }
    Piece read(const Cursor& from, size_t limit = size_t{1} << 20) {
        return reader_.read(from, limit).value();
    }
    // Reads up to the end; the rows' numbers.
    std::vector<int64_t> read_all(Cursor& cursor, size_t limit = size_t{1} << 20) {
        std::vector<int64_t> rows;
        for (;;) {
            Piece piece = read(cursor, limit);
            EXPECT_TRUE(piece.next >= cursor);
            cursor = piece.next;
            gone += piece.gone_blocks;
            std::ranges::copy(piece.lost, std::back_inserter(lost));
            if (piece.bytes.empty()) return rows;
            const auto summary = read_segment_bytes(piece.bytes, "piece", [&](const Batch& batch) {
                for (int64_t row : batch.values(column(schema::kEvent, "task")).integers) rows.push_back(row);
            });
            if (!summary) ADD_FAILURE() << summary.error().message();
            if (!summary) return rows;
            EXPECT_THAT(summary->lost, IsEmpty());
            EXPECT_TRUE(summary->session && summary->session->stream() == cursor.stream);
        }
    }

    uint64_t gone = 0;
    std::vector<Lost> lost;

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("spool_reader_test").value();
    SpoolReader reader_;
};

std::vector<int64_t> numbers(int64_t from, int64_t to) {
    std::vector<int64_t> all;
    for (int64_t i = from; i < to; ++i) all.push_back(i);
    return all;
}

TEST(stream, a_spool_is_read_from_a_cursor_while_it_grows) {
    Spool spool;
    const std::string first = file_of(1, 20), second = file_of(21, 30);  // 20 is the session of the second
    Cursor cursor{.stream = session_of().stream()};
    EXPECT_THAT(spool.read_all(cursor), IsEmpty()) << "a stream that nobody knows yet";
    std::vector<int64_t> rows;
    auto take = [&](std::vector<int64_t> more) { std::ranges::copy(more, std::back_inserter(rows)); };
    for (size_t cut = 0; cut <= first.size(); cut += cut + 7 < first.size() ? 7 : 1) {
        spool.put(0, std::string_view(first).substr(0, cut));  // grows in place, as a writer's file does
        take(spool.read_all(cursor, cut % 3 == 0 ? 1 : 10'000));
    }
    EXPECT_EQ(rows, numbers(1, 20));
    spool.put(20 - 0, second);
    take(spool.read_all(cursor));
    std::vector<int64_t> wanted = numbers(1, 20);
    std::ranges::copy(numbers(21, 30), std::back_inserter(wanted));
    EXPECT_EQ(rows, wanted);
    EXPECT_EQ(spool.gone, 0U);
    EXPECT_THAT(spool.lost, IsEmpty());
    EXPECT_EQ(cursor.next_block, 30U);
}

TEST(stream, who_reads_goes_on_with_the_text_of_its_cursor) {
    Spool spool;
    spool.put(0, file_of(1, 50));
    Cursor cursor = spool.reader().streams().value().at(0);
    const Piece piece = spool.read(cursor, 1);
    EXPECT_EQ(piece.next.next_block, 2U) << "one block, however small the limit";
    Cursor again = parse_cursor(to_text(piece.next)).value();
    auto other = SpoolReader::open(spool.path()).value();
    const Piece rest = other.read(again).value();
    EXPECT_EQ(rest.next.next_block, 50U);
}

TEST(stream, blocks_that_rotation_threw_away_are_told) {
    Spool spool;
    spool.put(29, file_of(30, 40));
    Cursor cursor{.stream = session_of().stream(), .next_block = 7};
    const Piece piece = spool.read(cursor);
    EXPECT_EQ(piece.gone_first, 7U);
    EXPECT_EQ(piece.gone_blocks, 22U);
    EXPECT_THAT(piece.lost, IsEmpty());
    EXPECT_EQ(spool.read_all(cursor), numbers(30, 40));
}

TEST(stream, damage_in_a_spool_costs_its_blocks_and_is_told_once) {
    std::mt19937_64 random(4);
    const std::string whole = file_of(1, 30), last = file_of(31, 33);
    const size_t head = encode_head(session_of()).size();
    for (int round = 0; round < 40; ++round) {
        Spool spool;
        std::string damaged = whole;
        const size_t at = head + random() % (whole.size() - head);
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
        spool.put(0, damaged);
        spool.put(30, last);
        Cursor cursor = spool.reader().streams().value().at(0);
        const auto rows = spool.read_all(cursor, 1 + random() % 3000);
        EXPECT_EQ(rows.size(), 29U + 2 - 1) << at;
        EXPECT_THAT(spool.lost, SizeIs(1)) << at;
        EXPECT_EQ(spool.gone, 0U);
    }
}

// Where reading goes on, damage may stand: at every block, with the blocks handed on one by one.
TEST(stream, damage_behind_each_block_is_passed_over_piece_by_piece) {
    Spool spool;
    std::string bytes = encode_head(session_of());
    constexpr int64_t kRows = 50;
    for (int64_t i = 1; i < kRows; ++i) {
        for (const RowsPayload& part : encode_rows(one_row(i)))
            bytes += encode_rows_block(part, static_cast<uint32_t>(i));
        if (i + 1 < kRows) bytes += "no block";
    }
    spool.put(0, bytes);
    spool.put(kRows, file_of(kRows + 1, kRows + 2));  // block kRows is its session
    Cursor cursor = spool.reader().streams().value().at(0);
    std::vector<int64_t> wanted = numbers(1, kRows);
    wanted.push_back(kRows + 1);
    EXPECT_EQ(spool.read_all(cursor, 1), wanted);
    EXPECT_THAT(spool.lost, SizeIs(kRows - 2));
}

TEST(stream, the_tail_of_a_killed_writer_is_damage_once_another_file_follows) {
    Spool spool;
    const std::string first = file_of(1, 10);
    spool.put(0, std::string_view(first).substr(0, first.size() - 3));
    Cursor cursor{.stream = session_of().stream()};
    EXPECT_EQ(spool.read_all(cursor), numbers(1, 9));
    EXPECT_THAT(spool.lost, IsEmpty()) << "the rest may still come";
    spool.put(10, file_of(11, 13));
    EXPECT_EQ(spool.read_all(cursor), numbers(11, 13));
    ASSERT_THAT(spool.lost, SizeIs(1));
    EXPECT_EQ(spool.lost[0].reason, "truncated block");
}

TEST(stream, several_streams_share_a_spool) {
    Spool spool;
    Session later = session_of();
    later.began += seconds(60);
    later.source = "recorder-t1";
    spool.put(0, file_of(1, 4));
    std::ofstream(spool.path() / spool_file_name(later.stream(), 0)) << encode_head(later);
    const auto streams = spool.reader().streams().value();
    ASSERT_THAT(streams, SizeIs(2));
    EXPECT_EQ(streams[0].stream, session_of().stream());
    EXPECT_EQ(streams[1].stream, later.stream());
    Cursor cursor = streams[0];
    EXPECT_EQ(spool.read_all(cursor), numbers(1, 4));
    EXPECT_TRUE(spool.read(streams[1]).bytes.empty());
}

TEST(stream, what_is_no_file_of_a_stream_is_left_out) {
    Spool spool;
    spool.put(0, file_of(1, 4));
    core::TemporaryDirectory elsewhere = core::TemporaryDirectory::create("spool_reader_test").value();
    std::ofstream(elsewhere.path() / "secret") << file_of(100, 105);
    fs::create_symlink(elsewhere.path() / "secret", spool.path() / "a-link.seg");
    ASSERT_EQ(mkfifo((spool.path() / "a-pipe.seg").c_str(), 0600), 0);
    std::ofstream(spool.path() / "foreign.seg") << "#!/bin/sh\n";
    Session endless = session_of();
    endless.node = std::string(kMaxStreamName + 1, 'n');
    std::ofstream(spool.path() / "endless.seg") << encode_head(endless);
    std::ofstream(spool.path() / "notes.txt") << "nothing";
    EXPECT_THAT(spool.reader().streams().value(), SizeIs(1));
    std::vector<std::string> names;
    for (const Lost& lost : spool.reader().left_out()) names.push_back(lost.file);
    EXPECT_THAT(names, ElementsAre("a-link.seg", "a-pipe.seg", "endless.seg", "foreign.seg"));
}

// Opened or not is seen by a change that leaves the size as it is, which no writer makes.
TEST(stream, a_file_that_was_left_out_is_looked_at_again_when_it_has_grown) {
    Spool spool;
    const fs::path file = spool.path() / "late.seg";
    const std::string whole = file_of(1, 4), session = encode_head(session_of());
    std::ofstream(file) << std::string(session.size(), 'x');
    EXPECT_THAT(spool.reader().streams().value(), IsEmpty());
    EXPECT_THAT(spool.reader().left_out(), SizeIs(1));
    std::ofstream(file) << session;
    EXPECT_THAT(spool.reader().streams().value(), IsEmpty()) << "it was not opened";
    EXPECT_THAT(spool.reader().left_out(), SizeIs(1)) << "but told";
    std::ofstream(file) << whole;
    EXPECT_THAT(spool.reader().streams().value(), SizeIs(1));
    EXPECT_THAT(spool.reader().left_out(), IsEmpty());
}

TEST(stream, what_is_no_block_at_the_end_is_said_where_nobody_writes) {
    Spool spool;
    const std::string whole = file_of(1, 10);
    Cursor cursor{.stream = session_of().stream()};
    spool.put(0, whole + "damage");
    EXPECT_EQ(spool.read_all(cursor), numbers(1, 10));
    Piece end = spool.read(cursor);
    EXPECT_THAT(end.lost, IsEmpty());
    ASSERT_THAT(end.tail, SizeIs(1));
    EXPECT_EQ(end.tail[0].offset, whole.size());
    EXPECT_EQ(end.tail[0].bytes, 6U);
    const auto file = core::open_file(spool.path() / spool_file_name(cursor.stream, 0), O_RDWR).value();
    ASSERT_EQ(flock(file.get(), LOCK_EX), 0);
    EXPECT_THAT(spool.read(cursor).tail, IsEmpty()) << "its writer may be at it";
}

TEST(stream, a_block_number_that_goes_back_is_passed_over) {
    Spool spool;
    std::string bytes = file_of(1, 4);
    bytes += encode_rows_block(encode_rows(one_row(9)).at(0), 2);
    bytes += encode_rows_block(encode_rows(one_row(4)).at(0), 4);
    spool.put(0, bytes);
    Cursor cursor{.stream = session_of().stream()};
    EXPECT_EQ(spool.read_all(cursor), numbers(1, 5));
    ASSERT_THAT(spool.lost, SizeIs(1));
    EXPECT_THAT(spool.lost[0].reason, HasSubstr("out of order"));
}

}  // namespace
}  // namespace belay::stream
