#include "server/packed/history.h"

#include "server/packed/history_testing.h"
#include "server/packed/span_testing.h"

#include <iterator>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

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

}  // namespace
}  // namespace belay::server
