#include "observe/node_sampler.h"

#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "schema/tables/host.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::observe {
namespace {

using schema::column;
using schema::kCoverage;
using schema::kEvent;
using schema::kHost;
using std::chrono::seconds;
using ::testing::ElementsAre;

const core::Time kStart = core::time_from_nanoseconds(1'700'000'000'000'000'000);

// What reaches a disk that may be full.
struct Disk {
    int failure = 0;  // an error number
    std::map<const schema::Table*, stream::Batch> tables;
    stream::Batch& of(const schema::Table& table) { return tables.try_emplace(&table, table).first->second; }
};

class DiskWriter final : public stream::Writer {
  public:
    explicit DiskWriter(Disk& disk) : disk_(&disk) {}
    core::Result<> append(const stream::Batch& batch) override {
        if (batch.empty()) return {};
        if (disk_->failure != 0) return core::errno_error(disk_->failure, "cannot write");
        disk_->of(batch.table()).append(batch);
        return {};
    }
    core::Result<> finish(core::Time) override { return {}; }
    void touch() const override {}
    uint64_t bytes() const override { return 0; }

  private:
    Disk* disk_;
};

struct Fixture {
    Fixture()
        : sampler({.node = "n1",
                   .source = "agent",
                   .interval = seconds(1),
                   .flush = seconds(2),
                   .samples_node = false},
                  TableWriter(DiskWriter(disk), "n1", seconds(1)), clock) {}
    core::Result<core::Duration> work(size_t rows) {
        for (size_t i = 0; i < rows; ++i) sampler.rows(kHost).add_row(clock.now(), "n1");
        clock.advance(seconds(2));
        return sampler.work();
    }
    Disk disk;
    core::ManualClock clock{kStart};
    NodeSampler sampler;
};

TEST(observe, after_a_full_disk_what_was_kept_is_written_and_what_was_lost_is_told) {
    Fixture fixture;
    fixture.disk.failure = ENOSPC;
    const auto next = fixture.work(2);
    ASSERT_TRUE(next) << next.error().message();
    EXPECT_GT(*next, fixture.clock.monotonic()) << "the next try is later";
    fixture.disk.failure = 0;
    ASSERT_TRUE(fixture.work(1));
    EXPECT_EQ(fixture.disk.of(kHost).rows(), 3U);
    fixture.disk.failure = EDQUOT;
    ASSERT_TRUE(fixture.work(TableWriter::kMostKeptRows + 1));
    ASSERT_TRUE(fixture.work(5));
    fixture.disk.failure = 0;
    ASSERT_TRUE(fixture.work(0));
    ASSERT_TRUE(fixture.work(0)) << "the event comes with the next rows";
    EXPECT_EQ(fixture.disk.of(kHost).rows(), 8U);
    const stream::Batch& events = fixture.disk.of(kEvent);
    EXPECT_THAT(events.values(column(kEvent, "kind")).texts, ElementsAre("spool_full", "spool_full"));
    EXPECT_THAT(events.values(column(kEvent, "code")).integers, ElementsAre(ENOSPC, EDQUOT));
    EXPECT_THAT(events.values(column(kEvent, "value")).reals,
                ElementsAre(0.0, static_cast<double>(TableWriter::kMostKeptRows + 1)));
    EXPECT_THAT(events.values(column(kEvent, "severity")).texts, ElementsAre("info", "warning"));
}

TEST(observe, who_was_stopped_until_the_end_owes_what_came_due) {
    Disk disk;
    core::ManualClock clock{kStart};
    NodeSampler sampler({.node = "n1", .source = "recorder", .interval = seconds(1), .flush = seconds(2)},
                        TableWriter(DiskWriter(disk), "n1", seconds(1)), clock);
    ASSERT_TRUE(sampler.work());
    clock.advance(seconds(8));
    sampler.sample_last();
    ASSERT_TRUE(sampler.finish(clock.now()));
    const stream::Batch& coverage = disk.of(kCoverage);
    int64_t expected = 0, received = 0;
    for (size_t i = 0; i < coverage.rows(); ++i) {
        if (coverage.values(column(kCoverage, "table_name")).texts[i] != "host") continue;
        expected += coverage.values(column(kCoverage, "expected")).integers[i];
        received += coverage.values(column(kCoverage, "received")).integers[i];
    }
    EXPECT_EQ(expected, 9);
    EXPECT_EQ(received, 2);
}

TEST(observe, a_disk_that_fails_otherwise_is_an_error) {
    Fixture fixture;
    fixture.disk.failure = EIO;
    EXPECT_EQ(fixture.work(1).error().errno_value(), EIO);
}

TEST(observe, samples_whose_rows_were_dropped_count_as_missed) {
    Disk disk;
    TableWriter writer(DiskWriter(disk), "n1", seconds(1));
    for (int tick = 1; tick <= 3; ++tick) {
        writer.rows(kHost).add_row(kStart + seconds(tick), "n1");
        writer.count(kHost, kStart + seconds(tick), 1, tick != 2);
    }
    writer.rows(kEvent).add_row(kStart, "n1");
    EXPECT_EQ(writer.drop_excess(3), 0U);
    EXPECT_EQ(writer.drop_excess(2), 3U);
    ASSERT_TRUE(writer.flush(seconds(4)));
    EXPECT_EQ(disk.of(kHost).rows(), 0U);
    EXPECT_EQ(disk.of(kEvent).rows(), 1U);
    EXPECT_THAT(disk.of(kCoverage).values(column(kCoverage, "expected")).integers, ElementsAre(3));
    EXPECT_THAT(disk.of(kCoverage).values(column(kCoverage, "received")).integers, ElementsAre(0));
}

}  // namespace
}  // namespace belay::observe
