#include "server/packed/spans.h"

#include "record/series/spans.h"
#include "server/packed/span_testing.h"
#include "server/packed/testing.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kTen = std::chrono::seconds(10);

stream::Batch spans_of(const SpanTable& spans, core::Duration width, const stream::Batch& batch) {
    const auto things = things_of(batch, spans.sampled().keys);
    return make_spans(spans, width, batch, rows_by_thing(rows_by_time(batch), things), things);
}

TEST(server_packed, spans_are_what_a_second_way_makes_of_the_samples) {
    for (const auto width : {kTen, std::chrono::seconds(60)})
        for (uint64_t seed = 0; seed < 6; ++seed) {
            MadeStream stream("n", seed);
            for (int i = 0; i < 60; ++i) stream.add_seconds(3);
            Samples samples;
            std::map<const schema::Table*, stream::Batch> all;
            for (const stream::Batch& batch : stream.samples) {
                add_samples(batch, samples);
                all.try_emplace(&batch.table(), batch.table()).first->second.append(batch);
            }
            size_t series_count = 0;
            for (const auto& [table, batch] : all) {
                const SpanTable* spans = span_table(*table);
                if (spans == nullptr) continue;
                SpanMerge merge(*spans, width, {}, core::Time::max());  // nothing counts from 0
                merge.add(spans_of(*spans, width, batch));
                ASSERT_TRUE(merge.finish(
                    "n", core::Time::min(), core::Time::max(),
                    [&](const SpanSeries& series) -> core::Result<> {
                        ++series_count;
                        const auto found =
                            samples.find({thing_text(series.keys), std::string(series.column->name)});
                        if (found == samples.end())
                            ADD_FAILURE() << series.column->name;
                        else
                            expect_as_naive(series, found->second, core::Duration(width).count());
                        return {};
                    }));
            }
            EXPECT_EQ(series_count, samples.size());
        }
}

// However rows are dealt out to files, streams and times of packing.
TEST(server_packed, parts_of_spans_come_to_the_same_as_the_whole) {
    std::mt19937_64 random(5);
    for (uint64_t seed = 0; seed < 20; ++seed) {
        MadeStream stream("n", seed);
        for (int i = 0; i < 40; ++i) stream.add_seconds(4);
        Samples samples;
        std::vector<stream::Batch> groups(1 + random() % 5, stream::Batch(schema::kHost));
        size_t group = 0;
        for (const stream::Batch& batch : stream.samples) {
            if (&batch.table() != &schema::kHost) continue;
            add_samples(batch, samples);
            // Blocks one behind the other as a rule; files end anywhere.
            if (random() % 6 == 0 && group + 1 < groups.size()) ++group;
            groups[group].append(batch);
        }
        const SpanTable& spans = *span_table(schema::kHost);
        std::vector<stream::Batch> made;
        for (const stream::Batch& rows : groups) made.push_back(spans_of(spans, kTen, rows));
        // Some of them were merged into larger files meanwhile.
        if (made.size() > 2) {
            stream::Batch both = made[0];
            both.append(made[1]);
            made[0] = joined_spans(spans, both);
            made.erase(made.begin() + 1);
        }
        std::ranges::shuffle(made, random);
        SpanMerge merge(spans, kTen, {}, core::Time::max());
        for (const stream::Batch& rows : made) merge.add(rows);
        ASSERT_TRUE(merge.finish(
            "n", core::Time::min(), core::Time::max(), [&](const SpanSeries& series) -> core::Result<> {
                expect_as_naive(series, samples.at({"", std::string(series.column->name)}),
                                core::Duration(kTen).count());
                return {};
            }));
    }
}

TEST(server_packed, increases_of_a_counter_are_those_of_a_record) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
        MadeStream stream("n", seed, core::time_from_nanoseconds(1'000'000'000'000));
        for (int i = 0; i < 40; ++i) stream.add_seconds(4);
        const size_t energy = column(schema::kGpu, "energy_joules_total");
        const std::vector<record::Sampled> kinds = {record::Sampled::kCounter};
        const std::vector<record::SpanOutput> outputs = {
            {[](std::span<const double> sums) { return sums[0]; }, schema::Fold::kIncrease}};
        record::NodeSpans record({.bucket_seconds = 10, .buckets = 1000}, kinds, outputs);
        stream::Batch rows(schema::kGpu);
        for (const stream::Batch& batch : stream.samples)
            if (&batch.table() == &schema::kGpu) rows.append(batch);
        stream::Batch one(schema::kGpu);  // of the first device
        for (size_t row = 0; row < rows.rows(); row += 2) {
            one.append(rows, row, 1);
            const std::vector<double> values = {rows.values(energy).reals[row]};
            record.add({.time_microseconds = time_of(rows, row) / 1000, .key = 1, .values = values});
        }
        const auto expected = record.finish();
        const SpanTable& spans = *span_table(schema::kGpu);
        SpanMerge merge(spans, kTen, {energy}, core::Time::max());
        merge.add(spans_of(spans, kTen, one));
        ASSERT_TRUE(merge.finish(
            "n", core::Time::min(), core::Time::max(), [&](const SpanSeries& series) -> core::Result<> {
                EXPECT_THAT(series.keys, SizeIs(1));
                for (const Span& span : series.spans) {
                    const double want =
                        expected[0][static_cast<size_t>(core::to_nanoseconds(span.time) / 10'000'000'000)]
                            .increase;
                    EXPECT_TRUE(is_near(span.increase, want, 1e-6)) << span.increase << " " << want;
                }
                return {};
            }));
    }
}

TEST(server_packed, a_process_that_was_born_after_reading_began_counts_from_its_birth) {
    const size_t cpu = column(schema::kProcess, "cpu_user_seconds_total");
    stream::Batch rows(schema::kProcess);
    const core::Time born = core::time_from_nanoseconds(103'000'000'000);
    for (int second : {105, 106, 112}) {
        rows.add_row(core::time_from_nanoseconds(second * 1'000'000'000LL), "n");
        rows.set(column(schema::kProcess, "pid"), 7);
        rows.set(column(schema::kProcess, "start_time"), born);
        rows.set(cpu, static_cast<double>(second - 103));
    }
    const SpanTable& spans = *span_table(schema::kProcess);
    for (const bool is_known : {true, false}) {
        SpanMerge merge(spans, kTen, {cpu},
                        core::time_from_nanoseconds(is_known ? 100'000'000'000 : 104'000'000'000));
        merge.add(spans_of(spans, kTen, rows));
        std::vector<double> increases;
        ASSERT_TRUE(merge.finish("n", core::Time::min(), core::Time::max(),
                                 [&](const SpanSeries& series) -> core::Result<> {
                                     for (const Span& span : series.spans) increases.push_back(span.increase);
                                     return {};
                                 }));
        EXPECT_EQ(increases, (std::vector<double>{is_known ? 3.0 : 1.0, 6.0}));
    }
}

TEST(server_packed, a_sample_at_the_edge_belongs_to_the_span_that_ends_with_it) {
    EXPECT_EQ(span_start(20'000'000'000, kTen), 10'000'000'000);
    EXPECT_EQ(span_start(20'000'000'001, kTen), 20'000'000'000);
    EXPECT_EQ(span_start(0, kTen), -10'000'000'000);
    EXPECT_EQ(span_start(-1, kTen), -10'000'000'000);
    for (const int64_t time : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()})
        EXPECT_EQ(span_start(time, kTen) % core::Duration(kTen).count(), 0);
}

TEST(server_packed, late_blocks_within_others_do_not_count_twice) {
    const size_t forks = column(schema::kHost, "forks_total");
    const auto rows_at = [&](std::initializer_list<int> seconds) {
        stream::Batch rows(schema::kHost);
        for (int second : seconds) {
            rows.add_row(core::time_from_nanoseconds(second * 1'000'000'000LL), "n");
            rows.set(forks, second * 10);
        }
        return rows;
    };
    const SpanTable& spans = *span_table(schema::kHost);
    SpanMerge merge(spans, kTen, {forks}, core::Time::max());
    merge.add(spans_of(spans, kTen, rows_at({1, 2, 7, 8})));
    merge.add(spans_of(spans, kTen, rows_at({3, 4, 5, 6})));  // packed later
    ASSERT_TRUE(merge.finish("n", core::Time::min(), core::Time::max(),
                             [&](const SpanSeries& series) -> core::Result<> {
                                 EXPECT_THAT(series.spans, SizeIs(1));
                                 EXPECT_EQ(series.spans[0].increase, 70);
                                 EXPECT_EQ(series.spans[0].count, 8U);
                                 EXPECT_EQ(series.spans[0].last, 80);
                                 return {};
                             }));
}

TEST(server_packed, every_periodic_table_says_what_its_spans_are_of) {
    for (const schema::Table* table : schema::tables()) {
        const SampledTable* sampled = sampled_table(*table);
        EXPECT_EQ(sampled != nullptr, table->cadence == schema::Cadence::kPeriodic)
            << table->name << ": add a row to sampled_table.cpp";
        if (sampled == nullptr) continue;
        EXPECT_FALSE(sampled->columns.empty()) << table->name;
        EXPECT_EQ(2 + sampled->keys.size() + sampled->labels.size() + sampled->columns.size(),
                  table->columns.size())
            << table->name << ": each column is one of the three";
        for (const SampledColumn& column : sampled->columns) {
            // What ends so counts since some beginning, but for the inodes that a file system has.
            const std::string_view name = table->columns[column.column].name;
            EXPECT_EQ(column.is_counter(), name.ends_with("_total") && name != "inodes_total")
                << table->name << "." << name;
        }
    }
    EXPECT_EQ(sampled_table(schema::kHost)->keys.size(), 0U);
    EXPECT_EQ(sampled_table(schema::kGpu)->keys.size(), 1U);
    EXPECT_EQ(sampled_table(schema::kProcess)->born, column(schema::kProcess, "start_time"));
}

TEST(server_packed, means_have_a_few_digits_more_than_their_samples_differ) {
    SpanCell cell;
    for (const double value : {0.1234, 0.1299, 0.1277}) cell.add(value, schema::Sampled::kState);
    EXPECT_NEAR(rounded_mean(cell), 0.127, 0.0065 / 1000);
    EXPECT_EQ(rounded_mean(cell), std::round(rounded_mean(cell) * 1e6) / 1e6);
    SpanCell same;
    same.add(5, schema::Sampled::kState);
    EXPECT_EQ(rounded_mean(same), 5);
    SpanCell large;
    for (const double value : {1e12, 3e12}) large.add(value, schema::Sampled::kState);
    EXPECT_EQ(rounded_mean(large), 2e12);
}

}  // namespace
}  // namespace belay::server
