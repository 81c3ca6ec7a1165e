#include "score/digest_query.h"

#include "core/file.h"
#include "record/segment.h"
#include "record/tables/allocation.h"
#include "record/tables/coverage.h"
#include "record/tables/gpu.h"
#include "record/tables/gpu_device.h"
#include "score/job_score.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::score {

namespace {

using record::Batch;
using record::column;
using record::kAllocation;
using record::kGpu;
using record::kGpuDevice;
using std::chrono::seconds;

const core::Time kStart = core::time_from_nanoseconds(1'700'000'000'000'000'000);

// A record in the making.
class Fixture {
  public:
    Fixture() : directory_(core::TemporaryDirectory::create("digest_test").value()) {
        record::Manifest manifest;
        manifest.created = kStart;
        EXPECT_TRUE(record::begin_record(path(), manifest));
    }
    std::filesystem::path path() const { return directory_.path() / "record"; }

    void device(const std::string& node, const std::string& uuid, int index) {
        if (!known_.insert({node, uuid}).second) return;
        devices_.add_row(kStart, node);
        devices_.set(column(kGpuDevice, "device"), uuid);
        devices_.set(column(kGpuDevice, "index"), index);
        devices_.set(column(kGpuDevice, "name"), "Synthetic GPU 80GB");
        devices_.set(column(kGpuDevice, "weight"), 1.0);
    }
    void held(const std::string& node, const std::string& uuid, int from, int to,
              const std::string& step = "0") {
        if (!uuid.empty()) device(node, uuid, 0);
        allocation_.add_row(kStart, node);
        allocation_.set(column(kAllocation, "step_id"), step);
        if (!uuid.empty()) allocation_.set(column(kAllocation, "device"), uuid);
        allocation_.set(column(kAllocation, "t0"), kStart + seconds(from));
        allocation_.set(column(kAllocation, "t1"), kStart + seconds(to));
    }
    // Samples in ]from, to] with a saturation.
    void samples(const std::string& node, const std::string& uuid, int from, int to, double saturation) {
        device(node, uuid, 0);
        for (int i = from + 1; i <= to; ++i) {
            gpu_.add_row(kStart + seconds(i), node);
            gpu_.set(column(kGpu, "device"), uuid);
            gpu_.set(column(kGpu, "dram_active_ratio"), 0.8 * saturation);
            gpu_.set(column(kGpu, "sm_active_ratio"), 1.0);
            gpu_.set(column(kGpu, "processes"), 1);
        }
    }
    // Without counters of pipes.
    void utilization(const std::string& node, const std::string& uuid, int from, int to, double share) {
        device(node, uuid, 0);
        for (int i = from + 1; i <= to; ++i) {
            gpu_.add_row(kStart + seconds(i), node);
            gpu_.set(column(kGpu, "device"), uuid);
            gpu_.set(column(kGpu, "utilization_ratio"), share);
        }
    }
    void counted(double interval) {
        coverage_.add_row(kStart, "n1");
        coverage_.set(column(record::kCoverage, "table_name"), "gpu");
        coverage_.set(column(record::kCoverage, "interval_seconds"), interval);
    }

    Digest digest(bool sealed, const std::optional<std::string>& step = std::nullopt) {
        if (!written_) write();
        written_ = true;
        if (sealed) {
            EXPECT_TRUE(record::seal(path(), kStart));
        }
        auto archive = record::Archive::open(path());
        auto digest = read_digest(archive.value(), builtin_ceilings(), step);
        EXPECT_TRUE(digest) << digest.error().message();
        return digest.value_or(Digest{});
    }

  private:
    void write() {
        record::Session session{.node = "n1", .start = kStart, .interval = seconds(1), .flush = seconds(2)};
        auto writer = record::SegmentWriter::create(record::segments_path(path()) / "n1-0.seg", session);
        ASSERT_TRUE(writer);
        for (const Batch* batch : {&devices_, &allocation_, &gpu_, &coverage_})
            if (!batch->empty()) {
                ASSERT_TRUE(writer->append(*batch));
            }
        ASSERT_TRUE(writer->finish(kStart + seconds(1000)));
    }

    core::TemporaryDirectory directory_;
    std::set<std::pair<std::string, std::string>> known_;
    Batch devices_{kGpuDevice};
    Batch allocation_{kAllocation};
    Batch gpu_{kGpu};
    Batch coverage_{record::kCoverage};
    bool written_ = false;
};

double score_of(const Digest& digest) {
    return score_job(digest).score.point;
}

}  // namespace

TEST(score, a_record_scores_the_same_before_and_after_sealing) {
    Fixture fixture;
    for (int node = 1; node <= 3; ++node)
        for (int gpu = 0; gpu < 4; ++gpu) {
            const std::string name = fmt::format("n{}", node);
            const std::string uuid = fmt::format("GPU-{}-{}", node, 3 - gpu);  // not in the order of indices
            fixture.device(name, uuid, gpu);
            fixture.held(name, uuid, 0, 100);
            fixture.samples(name, uuid, 0, 100, 0.1 * node + 0.01 * gpu);
        }
    fixture.counted(1);
    Digest before = fixture.digest(false);
    Digest after = fixture.digest(true);
    ASSERT_EQ(before.gpus.size(), 12U);
    ASSERT_EQ(after.gpus.size(), 12U);
    for (size_t i = 0; i < 12; ++i) {
        EXPECT_EQ(after.gpus[i].node, fmt::format("n{}", i / 4 + 1));
        EXPECT_EQ(after.gpus[i].index, static_cast<int64_t>(i % 4));
        EXPECT_NEAR(score::score_of(after.gpus[i].totals).point,
                    100 * (0.1 * static_cast<double>(i / 4 + 1) + 0.01 * static_cast<double>(i % 4)), 1e-6);
        EXPECT_EQ(before.gpus[i].totals.shares.saturated, after.gpus[i].totals.shares.saturated);
    }
    EXPECT_NEAR(score_of(before), 21.5, 1e-6);
    EXPECT_NEAR(score_of(after), 21.5, 1e-6);
    EXPECT_EQ(after.job.size(), 100U);
    EXPECT_NEAR(after.job[50].saturated, 0.215, 1e-6);
}

TEST(score, idle_late_and_silent_devices_count) {
    Fixture fixture;
    for (int gpu = 0; gpu < 4; ++gpu) {
        fixture.held("n1", fmt::format("GPU-{}", gpu), 0, 100);
        fixture.samples("n1", fmt::format("GPU-{}", gpu), 0, 100, gpu < 3 ? 0.5 : 0);
    }
    fixture.held("n1", "GPU-silent", 0, 100);
    fixture.counted(1);
    JobScore job = score_job(fixture.digest(true));
    EXPECT_NEAR(job.score.coverage, 0.8, 1e-9);
    EXPECT_NEAR(job.score.point, 37.5, 1e-6);
    EXPECT_NEAR(job.score.low, 30, 1e-6);
    EXPECT_NEAR(job.score.high, 50, 1e-6);
    EXPECT_EQ(job.gpus.size(), 5U);
    EXPECT_TRUE(std::isnan(job.gpus[4].score.point));
}

TEST(score, foreign_devices_are_left_out_and_told) {
    Fixture fixture;
    fixture.held("n1", "GPU-mine", 0, 50);
    fixture.samples("n1", "GPU-mine", 0, 50, 0.5);
    fixture.samples("n1", "GPU-foreign", 0, 50, 1);
    fixture.counted(1);
    JobScore job = score_job(fixture.digest(true));
    EXPECT_NEAR(job.score.point, 50, 1e-6);
    EXPECT_EQ(job.gpus.size(), 1U);
    EXPECT_THAT(job.notes,
                testing::Contains(testing::HasSubstr("1 devices were sampled that the job did not hold")));
}

TEST(score, without_an_allocation_all_that_was_sampled_counts) {
    Fixture fixture;
    fixture.samples("n1", "GPU-0", 0, 50, 0.5);
    fixture.samples("n2", "GPU-0", 0, 50, 1);  // the same UUID on another node
    EXPECT_NEAR(score_of(fixture.digest(true)), 75, 1e-6);
}

TEST(score, where_only_nodes_are_allocated_their_devices_count) {
    Fixture fixture;
    fixture.held("n1", "", 0, 100);
    fixture.samples("n1", "GPU-0", 0, 50, 0.8);  // then it vanished
    JobScore job = score_job(fixture.digest(true));
    EXPECT_NEAR(job.score.coverage, 0.5, 1e-9);
    EXPECT_NEAR(job.score.low, 40, 1e-6);
    EXPECT_NEAR(job.score.high, 90, 1e-6);
}

TEST(score, steps_are_scored_by_what_each_held) {
    Fixture fixture;
    fixture.held("n1", "GPU-0", 0, 50, "0");
    fixture.held("n1", "GPU-0", 50, 100, "1");
    fixture.samples("n1", "GPU-0", 0, 50, 0.2);
    fixture.samples("n1", "GPU-0", 50, 100, 0.8);
    EXPECT_NEAR(score_of(fixture.digest(true)), 50, 1e-6);
    EXPECT_NEAR(score_of(fixture.digest(true, "0")), 20, 1e-6);
    EXPECT_NEAR(score_of(fixture.digest(true, "1")), 80, 1e-6);
    auto archive = record::Archive::open(fixture.path());
    EXPECT_THAT(steps_of(*archive).value(), testing::ElementsAre("0", "1"));
}

TEST(score, rows_in_any_order_score_the_same) {
    Fixture fixture;
    fixture.samples("n1", "GPU-0", 50, 100, 1);
    fixture.samples("n2", "GPU-1", 0, 100, 0.5);
    fixture.samples("n1", "GPU-0", 0, 50, 0.5);
    fixture.counted(1);
    Digest sorted = fixture.digest(true);
    EXPECT_NEAR(score_of(sorted), 62.5, 1e-6);
    // Somebody else wrote the file, by time, and backwards.
    auto database = record::Database::open().value();
    const auto file = record::tables_path(fixture.path()) / "gpu.parquet";
    ASSERT_TRUE(database.execute(
        fmt::format("CREATE TABLE g AS SELECT * FROM read_parquet('{}'); COPY (SELECT * FROM g "
                    "ORDER BY time DESC) TO '{}' (FORMAT parquet)",
                    file.string(), file.string())));
    Digest disordered = fixture.digest(false);
    EXPECT_NEAR(score_of(disordered), 62.5, 1e-6);
    EXPECT_EQ(disordered.gpus[0].series[3], sorted.gpus[0].series[3]);
}

TEST(score, moments_of_idleness_without_counters_are_no_score) {
    Fixture fixture;
    fixture.held("n1", "GPU-0", 0, 100);
    fixture.utilization("n1", "GPU-0", 0, 98, 0.9);
    fixture.utilization("n1", "GPU-0", 98, 100, 0);
    JobScore job = score_job(fixture.digest(true));
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_TRUE(std::isnan(job.gpus.at(0).score.point));
    EXPECT_NEAR(job.score.high, 98, 1e-6);
    EXPECT_THAT(job.notes, testing::Contains(testing::HasSubstr("utilisation alone")));
}

TEST(score, foreign_files_have_the_declared_types_or_are_refused) {
    Fixture fixture;
    fixture.held("n1", "GPU-0", 0, 50);
    fixture.samples("n1", "GPU-0", 0, 50, 0.5);
    EXPECT_NEAR(score_of(fixture.digest(true)), 50, 1e-6);
    auto database = record::Database::open().value();
    const auto file = record::sql_literal((record::tables_path(fixture.path()) / "gpu.parquet").string());
    ASSERT_TRUE(database.execute("CREATE TABLE g AS SELECT * FROM read_parquet(" + file + ")"));
    auto rewrite = [&](const std::string& time) {
        ASSERT_TRUE(database.execute("COPY (SELECT * REPLACE (" + time + " AS time) FROM g) TO " + file +
                                     " (FORMAT parquet)"));
    };
    rewrite("time::TIMESTAMP_NS");
    EXPECT_NEAR(score_of(fixture.digest(false)), 50, 1e-6);
    rewrite("CASE WHEN sm_active_ratio > 2 THEN true END");
    EXPECT_EQ(score_job(fixture.digest(false)).score.coverage, 0);  // all times are null now
    rewrite("'yesterday'");
    auto archive = record::Archive::open(fixture.path());
    ASSERT_TRUE(archive);
    auto refused = read_digest(*archive);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("yesterday"));
}

TEST(score, a_record_without_gpus_has_an_empty_digest) {
    Fixture fixture;
    fixture.held("n1", "", 0, 100);
    EXPECT_TRUE(fixture.digest(true).empty());
}

}  // namespace belay::score
