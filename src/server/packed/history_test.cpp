#include "server/packed/history.h"

#include "server/packed/history_testing.h"
#include "server/packed/span_testing.h"
#include "stream/column_codec.h"
#include "stream/segment_format.h"

#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

namespace fs = std::filesystem;
using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(server_packed, rows_are_the_same_before_and_after_they_are_packed) {
    HistoryPlace place;
    Belayd belayd(place, "a", {.file_bytes = 5'000});
    MadeStream first("n1", 1), second("n2", 2);
    for (int i = 0; i < 20; ++i) {
        first.add_seconds(2);
        second.add_seconds(3);
        belayd.accept(first.piece(1, first.end()));
        belayd.accept(second.piece(1, second.end()));
    }
    std::vector<RowId> all = first.rows();
    std::ranges::copy(second.rows(), std::back_inserter(all));
    all = sorted(std::move(all));
    EXPECT_EQ(belayd.rows(), all);
    const size_t logs = place.log_files().size();
    ASSERT_GT(logs, 2U);
    EXPECT_EQ(belayd.pack_all(), logs - 1) << "all but the one that is being written";
    EXPECT_THAT(place.log_files(), SizeIs(1));
    EXPECT_THAT(place.packed_files(), SizeIs(3U)) << "rows, and spans of two widths";
    EXPECT_EQ(belayd.rows(), all);
    belayd.open();
    EXPECT_EQ(belayd.rows(), all);
    EXPECT_EQ(belayd.pack_all(), 1U) << "of the belayd before";
    EXPECT_THAT(place.log_files(), IsEmpty());
    EXPECT_EQ(belayd.rows(), all);
    EXPECT_EQ(belayd.accept(first.piece(1, first.end())).new_blocks, 0U) << "they are known";
    belayd.open();
    EXPECT_EQ(belayd.accept(first.piece(1, first.end())).new_blocks, 0U) << "also after a start without logs";
    EXPECT_EQ(belayd.intake->received(first.session().stream()).end(), first.end());
    EXPECT_THAT(belayd.history->lost(), IsEmpty());
}

// What comes late, twice, out of order and by two belayd, with starts in between.
TEST(server_packed, each_row_is_read_once_whatever_happens) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
        std::mt19937_64 random(seed);
        HistoryPlace place;
        Belayd one(place, "a", {.file_bytes = 4'000 + random() % 20'000});
        Belayd two(place, "b", {.file_bytes = 4'000 + random() % 20'000});
        std::vector<MadeStream> streams;
        for (uint64_t i = 0; i < 4; ++i)
            streams.emplace_back("n" + std::to_string(i / 2), seed * 10 + i,
                                 kPackedBegan + std::chrono::seconds(i));
        std::set<RowId> uploaded;
        for (int step = 0; step < 120; ++step) {
            MadeStream& stream = streams[random() % streams.size()];
            Belayd& belayd = random() % 2 == 0 ? one : two;
            switch (random() % 12) {
                case 0:
                    place.clock.advance(std::chrono::minutes(random() % 15));
                    break;
                case 1:
                    ASSERT_TRUE(belayd.history->pack(random() % 2 == 0));
                    break;
                case 2:
                    if (random() % 4 == 0) belayd.open();
                    ASSERT_TRUE(belayd.history->look());
                    break;
                default: {
                    if (random() % 3 != 0) stream.add_seconds(1 + static_cast<int>(random() % 3));
                    const uint64_t from = 1 + random() % stream.end(), to = from + random() % 12;
                    belayd.accept(stream.piece(from, to));
                    for (const RowId& row : stream.rows(from, to)) uploaded.insert(row);
                }
            }
            if (step % 20 != 19) continue;
            const std::vector<RowId> expected(uploaded.begin(), uploaded.end());
            for (Belayd* reader : {&one, &two}) {
                ASSERT_TRUE(reader->history->look());
                ASSERT_EQ(reader->rows(), expected) << "seed " << seed << " step " << step;
            }
        }
        one.pack_all();
        two.pack_all();
        ASSERT_TRUE(one.history->look());
        EXPECT_EQ(one.rows(), std::vector<RowId>(uploaded.begin(), uploaded.end()));
        for (const MadeStream& stream : streams) {
            const auto known = one.history->catalog()->streams.find(stream.session().stream());
            if (known == one.history->catalog()->streams.end()) continue;
            for (const BlockRun& run : known->second.blocks.runs())
                EXPECT_THAT(one.intake->received(stream.session().stream()).missing_in(run), IsEmpty());
        }
    }
}

TEST(server_packed, a_query_gives_its_nodes_times_tables_and_columns) {
    HistoryPlace place;
    Belayd belayd(place);
    MadeStream first("n1", 1), second("n2", 2);
    for (MadeStream* stream : {&first, &second})
        for (int i = 0; i < 30; ++i) {
            stream->add_seconds(2);
            belayd.accept(stream->piece(1, stream->end()));
        }
    for (int packed = 0; packed < 2; ++packed) {
        const TimeRange range{kPackedBegan + std::chrono::seconds(10),
                              kPackedBegan + std::chrono::seconds(41)};
        std::vector<RowId> expected;
        for (const RowId& row : first.rows())
            if (std::get<1>(row) == "gpu" && std::get<2>(row) >= core::to_nanoseconds(range.begin) &&
                std::get<2>(row) < core::to_nanoseconds(range.end))
                expected.push_back(row);
        EXPECT_EQ(belayd.rows({.tables = {&schema::kGpu},
                               .nodes = {"n1"},
                               .range = range,
                               .columns = {number_column(schema::kGpu)}}),
                  sorted(expected));
        size_t rows = 0;
        const size_t power = column(schema::kGpu, "power_watts");
        const auto read = belayd.history->read_rows(
            {.tables = {&schema::kGpu}, .nodes = {"n2"}, .range = {}, .columns = {power}},
            [&](const stream::Session& session, const stream::Batch& batch) -> core::Result<> {
                EXPECT_EQ(session.stream(), second.session().stream());
                EXPECT_EQ(session.interval, core::Duration(std::chrono::seconds(1)));
                for (size_t i = 0; i < batch.table().columns.size(); ++i)
                    EXPECT_EQ(std::ranges::count(batch.values(i).present, 1),
                              i < 2 || i == power ? static_cast<int64_t>(batch.rows()) : 0)
                        << batch.table().columns[i].name;
                rows += batch.rows();
                return {};
            });
        ASSERT_TRUE(read);
        EXPECT_EQ(rows, 30U * 2 * 2);
        EXPECT_THAT(belayd.rows({.tables = {}, .nodes = {"n3"}, .range = {}}), IsEmpty());
        EXPECT_EQ(belayd.history->nodes(range).value(), (std::vector<std::string>{"n1", "n2"}));
        EXPECT_THAT(
            belayd.history
                ->nodes({kPackedBegan - std::chrono::hours(2), kPackedBegan - std::chrono::minutes(2)})
                .value(),
            IsEmpty());
        belayd.pack_all();
    }
}

TEST(server_packed, what_a_visitor_returns_ends_the_query) {
    HistoryPlace place;
    Belayd belayd(place);
    MadeStream stream("n1", 1);
    stream.add_seconds(5);
    belayd.accept(stream.piece(1, stream.end()));
    int calls = 0;
    const auto read =
        belayd.history->read_rows({}, [&](const stream::Session&, const stream::Batch&) -> core::Result<> {
            ++calls;
            return core::negative("enough");
        });
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind(), core::ErrorKind::kNegative);
    EXPECT_EQ(calls, 1);
}

// Spans out of the log, of packed files, of merged ones, and of all at once.
TEST(server_packed, spans_are_the_same_wherever_they_come_from) {
    HistoryPlace place;
    HistoryOptions options;
    options.merge.ten_seconds = std::chrono::hours(1);
    Belayd belayd(place, "a", {.file_bytes = 30'000}, options);
    MadeStream stream("n1", 3);
    Samples samples;
    size_t seen = 0;
    const auto check = [&](const std::string& when) {
        for (; seen < stream.samples.size(); ++seen) add_samples(stream.samples[seen], samples);
        for (const Tier tier : {Tier::kTenSeconds, Tier::kMinute}) {
            size_t series_count = 0;
            for (const schema::Table* table : {&schema::kHost, &schema::kGpu, &schema::kProcess}) {
                const auto read = belayd.history->read_spans(
                    {.table = table,
                     .nodes = {"n1"},
                     .range = {kPackedBegan - std::chrono::hours(1), core::Time::max()},
                     .resolution = tier},
                    [&](const SpanSeries& series) -> core::Result<> {
                        ++series_count;
                        EXPECT_EQ(series.node, "n1");
                        expect_as_naive(
                            series, samples.at({thing_text(series.keys), std::string(series.column->name)}),
                            width_of(tier).count());
                        return {};
                    });
                ASSERT_TRUE(read) << read.error().message();
                EXPECT_THAT(read->lost, IsEmpty());
            }
            EXPECT_EQ(series_count, samples.size()) << when;
        }
    };
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 25; ++i) {
            stream.add_seconds(3);
            belayd.accept(stream.piece(1, stream.end()));
        }
        check("from the log");
        belayd.pack_all();
        place.clock.advance(std::chrono::minutes(11));
        check("packed and from the log");
    }
    place.clock.advance(std::chrono::hours(72));
    for (int i = 0; i < 2; ++i) {
        const auto merged = belayd.history->merge();
        ASSERT_TRUE(merged) << merged.error().message();
        EXPECT_GT(merged->merged.size(), 1U);
        EXPECT_THAT(merged->lost, IsEmpty());
        check("merged");
    }
    EXPECT_THAT(belayd.history->merge()->merged, IsEmpty()) << "nothing is left to merge";
    belayd.open();
    check("merged, after a start");
    const TimeRange range{kPackedBegan + std::chrono::seconds(100), kPackedBegan + std::chrono::seconds(160)};
    const size_t energy = column(schema::kGpu, "energy_joules_total");
    std::vector<double> increases, all_increases;
    for (const bool is_part : {true, false})
        ASSERT_TRUE(belayd.history->read_spans(
            {.table = &schema::kGpu,
             .nodes = {"n1"},
             .range = is_part ? range : TimeRange(),
             .resolution = Tier::kTenSeconds,
             .columns = {energy}},
            [&](const SpanSeries& series) -> core::Result<> {
                EXPECT_EQ(series.column->name, "energy_joules_total");
                for (const Span& span : series.spans)
                    if (span.time >= range.begin && span.time < range.end)
                        (is_part ? increases : all_increases).push_back(span.increase);
                return {};
            }));
    EXPECT_THAT(increases, SizeIs(2 * 6));
    EXPECT_EQ(increases, all_increases) << "a part of the time says what the whole does";
}

TEST(server_packed, a_table_without_samples_has_no_spans) {
    HistoryPlace place;
    Belayd belayd(place);
    const SpanVisitor none = [](const SpanSeries&) -> core::Result<> { return {}; };
    for (const SpanQuery& query :
         {SpanQuery{.table = &schema::kEvent, .nodes = {}, .range = {}},
          SpanQuery{.table = nullptr, .nodes = {}, .range = {}},
          SpanQuery{.table = &schema::kHost, .nodes = {}, .range = {}, .resolution = Tier::kRaw}}) {
        const auto read = belayd.history->read_spans(query, none);
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().kind(), core::ErrorKind::kBadInput);
    }
}

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
    EXPECT_GT(belayd.accept(streams[1].piece(1, streams[1].end())).new_blocks, 0U) << "the agent may send it again";
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
