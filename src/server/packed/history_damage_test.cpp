// What this version does not know, and what is damaged.
#include "server/packed/history.h"
#include "server/packed/history_testing.h"
#include "stream/column_codec.h"
#include "stream/segment_format.h"

#include <fstream>
#include <iterator>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

namespace fs = std::filesystem;
using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::IsEmpty;
using ::testing::SizeIs;

// As an agent of a newer version writes it: a column that is not known here.
std::string piece_of_newer_agent() {
    const auto block = [](stream::BlockKind kind, uint32_t rows, uint32_t sequence,
                          const std::string& payload) {
        const auto header =
            stream::encode_block_header({.kind = kind,
                                         .rows = rows,
                                         .stored_bytes = static_cast<uint32_t>(payload.size()),
                                         .raw_bytes = static_cast<uint32_t>(payload.size()),
                                         .sequence = sequence,
                                         .payload_crc = stream::checksum(payload)});
        return std::string(header.data(), header.size()) + payload;
    };
    std::string bytes(stream::kSegmentMagic);
    bytes.resize(stream::kFileHeaderBytes, '\0');
    bytes[stream::kSegmentMagic.size()] = stream::kSegmentVersion;
    bytes += block(stream::kSessionBlock, 0, 0,
                   R"({"node":"n1","task":null,"periodic":true,"start":5,"interval":1000000000,"flush":1,)"
                   R"("version":"99","cluster":"c1","boot":"b","source":"agent","began":7,"first_block":0,)"
                   R"("tables":[{"name":"host","columns":[["time","TIMESTAMP"],["node","VARCHAR"],)"
                   R"(["forks_total","BIGINT"],["colour","VARCHAR"]]}]})");
    std::string payload;
    stream::put_varint(payload, 4);
    const std::vector<uint8_t> present = {1, 1};
    stream::ColumnValues values{.present = present, .integers = {}, .reals = {}, .texts = {}};
    values.integers = {core::to_nanoseconds(kPackedBegan),
                       core::to_nanoseconds(kPackedBegan) + 1'000'000'000};
    stream::encode_column(schema::ColumnType::kTimestamp, values, 2, payload);
    values.texts = {"n1", "n1"};
    stream::encode_column(schema::ColumnType::kText, values, 2, payload);
    values.integers = {41, 42};
    stream::encode_column(schema::ColumnType::kInteger, values, 2, payload);
    values.texts = {"a colour of the future", "another"};
    stream::encode_column(schema::ColumnType::kText, values, 2, payload);
    return bytes + block(stream::kRowsBlock, 2, 1, payload);
}

TEST(server_packed, what_this_version_does_not_know_is_kept_as_it_came) {
    HistoryPlace place;
    Belayd belayd(place, "a", {.file_bytes = 10});
    const std::string piece = piece_of_newer_agent();
    belayd.accept(piece);
    const std::vector<RowId> before = belayd.rows();
    EXPECT_THAT(before, SizeIs(2));
    belayd.open();
    belayd.pack_all();
    EXPECT_THAT(place.log_files(), IsEmpty());
    EXPECT_EQ(belayd.rows(), before);
    EXPECT_EQ(belayd.rows({.tables = {&schema::kHost}, .nodes = {"n1"}, .range = {}}), before);
    const std::string name = place.packed_files().at(0).filename().string();
    bool is_kept = false;
    for (const PackedFile& file : belayd.history->catalog()->files) {
        if (file.tier != Tier::kRaw) continue;
        const auto reader = PackedReader::open(belayd.history->directory(), file.name, file.tier).value();
        const std::vector<PackedPart> parts = reader->index().parts(0).value();
        for (const PackedPart& part : parts)
            if (part.kind == kPiecePart) is_kept |= reader->read_piece(part).value() == piece;
    }
    EXPECT_TRUE(is_kept) << "a later version reads all of it";
    size_t spans = 0;
    ASSERT_TRUE(belayd.history->read_spans(
        {.table = &schema::kHost, .nodes = {"n1"}, .range = {}, .resolution = Tier::kTenSeconds},
        [&](const SpanSeries& series) -> core::Result<> {
            spans += series.spans.size();
            EXPECT_EQ(series.column->name, "forks_total");
            return {};
        }));
    EXPECT_GE(spans, 1U);
}

TEST(server_packed, damage_in_a_log_costs_its_place_and_is_told) {
    HistoryPlace place;
    Belayd belayd(place, "a", {});
    MadeStream stream("n1", 4);
    for (int i = 0; i < 10; ++i) {
        const uint64_t from = stream.end();
        stream.add_seconds(2);
        belayd.accept(stream.piece(from, stream.end()));
    }
    const fs::path log = place.log_files().at(0);
    belayd.history.reset();
    belayd.intake.reset();
    std::string bytes = core::read_file(log).value();
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    std::ofstream(log) << bytes;
    belayd.open();
    const auto round = belayd.history->pack(true);
    ASSERT_TRUE(round) << round.error().message();
    EXPECT_THAT(round->logs, SizeIs(1));
    EXPECT_THAT(round->lost, SizeIs(1));
    const std::vector<RowId> rows = belayd.rows(), all = sorted(stream.rows());
    EXPECT_LT(rows.size(), all.size());
    EXPECT_GT(rows.size(), all.size() / 2);
    EXPECT_TRUE(std::ranges::includes(all, rows));
    place.clock.advance(std::chrono::seconds(1));
    EXPECT_GT(belayd.accept(stream.piece(1, stream.end())).new_blocks, 0U) << "the agent may send it again";
    EXPECT_EQ(belayd.rows(), all);
    belayd.open();
    belayd.pack_all();
    EXPECT_EQ(belayd.rows(), all);
}

TEST(server_packed, a_damaged_session_costs_its_blocks_alone) {
    HistoryPlace place;
    Belayd belayd(place, "a", {});
    std::vector<MadeStream> streams;
    std::vector<RowId> others;
    for (uint64_t i = 0; i < 3; ++i) {
        streams.emplace_back("n" + std::to_string(i), i);
        streams.back().add_seconds(3);
        belayd.accept(streams.back().piece(1, streams.back().end()));
        if (i != 1) std::ranges::copy(streams.back().rows(), std::back_inserter(others));
    }
    const fs::path log = place.log_files().at(0);
    LogContents contents;
    ASSERT_TRUE(add_log(belayd.intake->directory(), log.filename(), contents));
    const uint64_t session_at = contents.streams.at(streams[1].session().stream()).places.at(0).head_at;
    belayd.history.reset();
    belayd.intake.reset();
    std::string bytes = core::read_file(log).value();
    bytes[session_at + 40] = static_cast<char>(bytes[session_at + 40] ^ 1);
    std::ofstream(log) << bytes;
    belayd.open();
    EXPECT_EQ(belayd.rows(), sorted(others)) << "from the log";
    belayd.pack_all();
    EXPECT_EQ(belayd.rows(), sorted(others)) << "packed";
    place.clock.advance(std::chrono::seconds(1));
    EXPECT_GT(belayd.accept(streams[1].piece(1, streams[1].end())).new_blocks, 0U)
        << "the agent may send it again";
    std::ranges::copy(streams[1].rows(), std::back_inserter(others));
    EXPECT_EQ(belayd.rows(), sorted(others));
}

TEST(server_packed, damage_in_a_packed_file_is_told_and_costs_a_part) {
    HistoryPlace place;
    Belayd belayd(place, "a", {.file_bytes = 10});
    MadeStream stream("n1", 4);
    stream.add_seconds(60);
    belayd.accept(stream.piece(1, stream.end()));
    belayd.open();
    belayd.pack_all();
    const std::string name = belayd.history->catalog()->files.at(0).name;
    std::string bytes = core::read_file(place.packed() / name).value();
    std::mt19937_64 random(3);
    size_t told = 0;
    for (int i = 0; i < 40; ++i) {
        std::string damaged = bytes;
        const size_t at = random() % damaged.size();
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
        std::ofstream(place.packed() / name) << damaged;
        belayd.open();
        ReadHistory done;
        const std::vector<RowId> rows = belayd.rows({}, &done), all = sorted(stream.rows());
        EXPECT_TRUE(std::ranges::includes(all, rows));
        if (rows.size() < all.size()) {
            EXPECT_THAT(done.lost, ::testing::Not(IsEmpty()));
            ++told;
        }
    }
    EXPECT_GT(told, 10U);
}

}  // namespace
}  // namespace belay::server
