#include "server/packed/history_pieces.h"

#include "record/cut/cut_streams.h"
#include "schema/tables/allocation.h"
#include "server/packed/history_testing.h"

#include <filesystem>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct ReadPieces {
    std::vector<RowId> rows;
    uint64_t gone = 0;
    std::vector<stream::Lost> lost;
    size_t pieces = 0;
    bool has_end = false;  // a piece without bytes at last
};

ReadPieces read_pieces(record::PieceSource& source) {
    ReadPieces read;
    const auto done = source.read([&](const stream::Piece& piece) -> core::Result<bool> {
        EXPECT_FALSE(read.has_end);
        read.gone += piece.gone_blocks;
        std::ranges::copy(piece.lost, std::back_inserter(read.lost));
        EXPECT_EQ(piece.next.stream, source.stream());
        if (piece.bytes.empty()) {
            read.has_end = true;
            return true;
        }
        ++read.pieces;
        const auto summary =
            stream::read_segment_bytes(piece.bytes, "piece", [&](const stream::Batch& batch) {
                for (size_t row = 0; row < batch.rows(); ++row)
                    read.rows.emplace_back(source.stream().node + "/" + source.stream().source + "/" +
                                               std::to_string(core::to_nanoseconds(source.stream().began)),
                                           std::string(batch.table().name), time_of(batch, row),
                                           batch.values(number_column(batch.table())).integers[row]);
            });
        EXPECT_TRUE(summary && summary->whole() && summary->session);
        if (summary && summary->session) {
            EXPECT_EQ(summary->session->stream(), source.stream());
        }
        return true;
    });
    EXPECT_TRUE(done) << done.error().message();
    std::ranges::sort(read.rows);
    return read;
}

TEST(server_packed, a_cut_reads_packed_rows_and_those_of_the_log_as_one_twice) {
    HistoryPlace place;
    Belayd belayd(place, "a", {.file_bytes = 6'000});
    MadeStream stream("n1", 3), other("n1", 4, kPackedBegan, "recorder");
    for (int i = 0; i < 25; ++i) {
        const uint64_t from = stream.end();
        stream.add_seconds(2);
        belayd.accept(stream.piece(from, stream.end()));
        if (i == 12) belayd.pack_all();
    }
    other.add_seconds(3);
    belayd.accept(other.piece(1, other.end()));
    const auto cut = std::make_shared<HistoryCut>(*belayd.history);
    const TimeRange far{kPackedBegan - std::chrono::hours(3), kPackedBegan + std::chrono::hours(3)};
    auto sources = streams_of(cut, {.cluster = "c1", .node = "n1", .range = far, .needed = far}).value();
    ASSERT_THAT(sources, SizeIs(2));
    for (auto& source : sources) {
        const std::vector<RowId> expected =
            sorted(source->stream().source == "agent" ? stream.rows() : other.rows());
        const ReadPieces first = read_pieces(*source);
        EXPECT_EQ(first.rows, expected);
        EXPECT_TRUE(first.has_end);
        EXPECT_EQ(first.gone, 0U);
        EXPECT_THAT(first.lost, IsEmpty());
    }
    // What comes and is packed meanwhile changes nothing.
    const std::vector<RowId> before = sorted(stream.rows());
    const uint64_t from = stream.end();
    stream.add_seconds(4);
    belayd.accept(stream.piece(from, stream.end()));
    place.clock.advance(std::chrono::minutes(1));
    belayd.pack_all();
    for (auto& source : sources) {
        const ReadPieces again = read_pieces(*source);
        EXPECT_EQ(again.rows, source->stream().source == "agent" ? before : sorted(other.rows()));
        EXPECT_FALSE(again.has_end);
    }
    EXPECT_THAT(streams_of(cut, {.cluster = "c2", .node = "n1", .range = far, .needed = far}).value(),
                IsEmpty());
}

TEST(server_packed, a_cut_gets_its_range_and_the_beginning_of_the_stream) {
    HistoryPlace place;
    Belayd belayd(place);
    MadeStream stream("n1", 3, kPackedBegan - std::chrono::hours(2));
    stream.add_seconds(20);
    belayd.accept(stream.piece(1, stream.end()));
    const auto at = [&](int seconds) { return stream.session().began + std::chrono::seconds(seconds); };
    const TimeRange range{at(10), at(15)};
    for (int packed = 0; packed < 2; ++packed) {
        const auto cut = std::make_shared<HistoryCut>(*belayd.history);
        auto sources =
            streams_of(cut, {.cluster = "c1", .node = "n1", .range = range, .needed = range}).value();
        ASSERT_THAT(sources, SizeIs(1));
        std::vector<RowId> expected;
        const std::vector<RowId> all = stream.rows();
        for (const RowId& row : all)
            if (std::get<2>(row) < core::to_nanoseconds(range.end)) expected.push_back(row);
        EXPECT_EQ(read_pieces(*sources[0]).rows, sorted(expected))
            << "all of its first hour before the range";
        int pieces = 0;
        ASSERT_TRUE(sources[0]->read([&](const stream::Piece&) -> core::Result<bool> {
            ++pieces;
            return false;
        }));
        EXPECT_EQ(pieces, 1) << "nothing more was wanted";
        belayd.open();
        belayd.pack_all();
    }
}

TEST(server_packed, blocks_that_never_came_are_told_for_their_time) {
    HistoryPlace place;
    Belayd belayd(place, "a", {.file_bytes = 3'000});
    MadeStream stream("n1", 3);
    std::vector<uint64_t> begins;
    for (int i = 0; i < 40; ++i) {
        begins.push_back(stream.end());
        stream.add_seconds(2);
        if (i == 10 || i == 11 || i == 30) continue;
        belayd.accept(stream.piece(begins.back(), stream.end()));
        place.clock.advance(std::chrono::seconds(2));
    }
    const auto at = [&](int i) { return kPackedBegan + std::chrono::seconds(2 * i); };
    const auto gone = [&](int from, int to) {
        const auto cut = std::make_shared<HistoryCut>(*belayd.history);
        const TimeRange range{at(from), at(to)};
        auto sources =
            streams_of(cut, {.cluster = "c1", .node = "n1", .range = range, .needed = range}).value();
        EXPECT_THAT(sources, SizeIs(1));
        const ReadPieces read = read_pieces(*sources.at(0));
        EXPECT_EQ(read.gone > 0, !read.lost.empty());
        return read.gone;
    };
    const uint64_t first = begins[12] - begins[10], second = begins[31] - begins[30];
    EXPECT_EQ(gone(0, 40), first + second);
    EXPECT_EQ(gone(5, 20), first);
    EXPECT_EQ(gone(18, 25), 0U);
    belayd.pack_all(false);
    EXPECT_EQ(gone(0, 40), first + second);
    belayd.open();
    belayd.pack_all();
    EXPECT_EQ(gone(0, 40), first + second) << "packed, as far as the files around tell";
}

TEST(server_packed, cuts_of_many_nodes_hold_each_file_of_the_log_open_once) {
    HistoryPlace place;
    Belayd belayd(place, "a", {});
    std::vector<std::unique_ptr<record::PieceSource>> all;
    for (uint64_t i = 0; i < 20; ++i) {
        MadeStream stream("n" + std::to_string(i), i);
        stream.add_seconds(2);
        belayd.accept(stream.piece(1, stream.end()));
    }
    const TimeRange range{kPackedBegan, kPackedBegan + std::chrono::hours(1)};
    for (uint64_t i = 0; i < 20; ++i) {
        // Each with a cut of its own.
        auto sources =
            streams_of(std::make_shared<HistoryCut>(*belayd.history),
                       {.cluster = "c1", .node = "n" + std::to_string(i), .range = range, .needed = range});
        ASSERT_TRUE(sources) << sources.error().message();
        ASSERT_THAT(*sources, SizeIs(1));
        all.push_back(std::move(sources->front()));
    }
    const auto log = place.log_files().at(0);
    const auto open_for_reading = [&] {
        size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            if (std::filesystem::read_symlink(entry.path(), gone) == log) ++count;
        }
        return count;
    };
    EXPECT_EQ(open_for_reading(), 2U) << "by the writer, and for all cuts together";
    for (auto& source : all) EXPECT_FALSE(read_pieces(*source).rows.empty());
    all.clear();
    EXPECT_EQ(open_for_reading(), 1U);
}

// The whole way: a job's record out of packed rows.
TEST(server_packed, a_record_is_cut_from_what_was_packed) {
    HistoryPlace place;
    Belayd belayd(place, "a", {.file_bytes = 3'000});
    MadeStream stream("n1", 3);
    stream.add_seconds(30);
    std::string allocation = stream::encode_head(stream.session());
    stream::Batch rows(schema::kAllocation);
    rows.add_row(kPackedBegan + std::chrono::seconds(21), "n1");
    rows.set(column(schema::kAllocation, "job_id"), 7);
    rows.set(column(schema::kAllocation, "step_id"), "0");
    rows.set(column(schema::kAllocation, "restart"), 0);
    rows.set(column(schema::kAllocation, "t0"), kPackedBegan + std::chrono::seconds(5));
    rows.set(column(schema::kAllocation, "t1"), kPackedBegan + std::chrono::seconds(20));
    const std::vector<stream::RowsPayload> parts = stream::encode_rows(rows);
    allocation += stream::encode_rows_block(parts.at(0), static_cast<uint32_t>(stream.end()));
    belayd.accept(stream.piece(1, stream.end()));
    belayd.accept(allocation);
    const auto rows_of_cut = [&](const std::string& name) {
        record::StreamsCut cut;
        const auto shared = std::make_shared<HistoryCut>(*belayd.history);
        auto sources = streams_of(shared, {.cluster = "c1",
                                           .node = "n1",
                                           .range = {kPackedBegan, kPackedBegan + std::chrono::hours(1)},
                                           .needed = {kPackedBegan, kPackedBegan + std::chrono::seconds(20)}})
                           .value();
        for (auto& source : sources) EXPECT_TRUE(cut.add(std::move(source)).value());
        EXPECT_TRUE(cut.plan({.job_id = 7}));
        const auto done = cut.write(place.directory.path() / name, place.clock.now());
        EXPECT_TRUE(done) << done.error().message();
        return done ? done->rows : 0;
    };
    const uint64_t from_log = rows_of_cut("one");
    EXPECT_GE(from_log, 16U) << "15 seconds of the node, and the allocation";
    belayd.open();
    belayd.pack_all();
    EXPECT_EQ(rows_of_cut("two"), from_log);
}

}  // namespace
}  // namespace belay::server
