#include "observe/table_writer.h"

#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "schema/tables/host.h"
#include "stream/segment.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace belay::observe {
namespace {

using schema::column;
using schema::kCoverage;
using schema::kHost;
using std::chrono::seconds;

const core::Time kStart = core::time_from_nanoseconds(1'700'000'000'000'000'000);

struct Row {
    core::Time start;
    core::Time end;
    int64_t expected;
    int64_t received;
    bool operator==(const Row&) const = default;
};

// A table of which it was not known for three ticks whether it has rows.
TEST(observe, a_count_that_comes_late_reaches_back) {
    auto directory = core::TemporaryDirectory::create("table_writer_test").value();
    auto path = directory.path() / "a.seg";
    TableWriter writer(stream::SegmentWriter::create(path, {.node = "n1", .start = kStart}).value(), "n1",
                       seconds(1));
    writer.count(kHost, kStart + seconds(4), 4, true);
    ASSERT_TRUE(writer.finish(kStart + seconds(4)));
    int64_t start = 0;
    ASSERT_TRUE(stream::read_segment(path, [&](const stream::Batch& batch) {
        if (&batch.table() != &kCoverage) return;
        start = batch.values(column(kCoverage, "start")).integers.at(0);
        EXPECT_EQ(batch.rows(), 2U) << "three missed, and one taken";
    }));
    EXPECT_EQ(core::time_from_nanoseconds(start), kStart);
}

TEST(observe, counts_follow_the_samples_of_each_flush) {
    auto directory = core::TemporaryDirectory::create("table_writer_test").value();
    auto path = directory.path() / "a.seg";
    TableWriter writer(stream::SegmentWriter::create(path, {.node = "n1", .start = kStart}).value(), "n1",
                       seconds(1));
    auto tick = [&](int second, int64_t due, bool taken) {
        if (taken) writer.rows(kHost).add_row(kStart + seconds(second), "n1");
        writer.count(kHost, kStart + seconds(second), due, taken);
    };
    tick(1, 1, true);
    tick(2, 1, false);
    ASSERT_TRUE(writer.flush(seconds(2)));
    ASSERT_TRUE(writer.flush(seconds(4))) << "nothing new is nothing to write";
    tick(7, 5, true);  // four ticks were slept over
    ASSERT_TRUE(writer.finish(kStart + seconds(7)));

    std::vector<Row> rows;
    int64_t samples = 0;
    auto summary = stream::read_segment(path, [&](const stream::Batch& batch) {
        if (&batch.table() == &kHost) samples += static_cast<int64_t>(batch.rows());
        if (&batch.table() != &kCoverage) return;
        for (size_t i = 0; i < batch.rows(); ++i) {
            auto integer = [&](size_t index) { return batch.values(index).integers[i]; };
            EXPECT_EQ(batch.values(column(kCoverage, "table_name")).texts[i], "host");
            rows.push_back({core::time_from_nanoseconds(integer(column(kCoverage, "start"))),
                            core::time_from_nanoseconds(integer(column(kCoverage, "time"))),
                            integer(column(kCoverage, "expected")), integer(column(kCoverage, "received"))});
        }
    });
    ASSERT_TRUE(summary);
    EXPECT_TRUE(summary->ended);
    EXPECT_EQ(samples, 2);
    EXPECT_EQ(rows, (std::vector<Row>{{kStart, kStart + seconds(1), 1, 1},
                                      {kStart + seconds(1), kStart + seconds(2), 1, 0},
                                      {kStart + seconds(2), kStart + seconds(6), 4, 0},
                                      {kStart + seconds(6), kStart + seconds(7), 1, 1}}))
        << "a row counts samples that were all taken, or all missed";
}

TEST(observe, a_segment_stays_young_while_there_is_nothing_to_write) {
    namespace fs = std::filesystem;
    auto directory = core::TemporaryDirectory::create("table_writer_test").value();
    auto path = directory.path() / "a.seg";
    TableWriter writer(stream::SegmentWriter::create(path, {.node = "n1", .start = kStart}).value(), "n1",
                       seconds(1));
    const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
    auto touched = [&](int second) {
        fs::last_write_time(path, old);
        EXPECT_TRUE(writer.flush(seconds(second)));
        return fs::last_write_time(path) > old + std::chrono::minutes(30);
    };
    writer.rows(kHost).add_row(kStart, "n1");
    EXPECT_TRUE(touched(100)) << "written to";
    EXPECT_FALSE(touched(102));
    EXPECT_FALSE(touched(119));
    EXPECT_TRUE(touched(120));
    EXPECT_FALSE(touched(122));
}

}  // namespace
}  // namespace belay::observe
