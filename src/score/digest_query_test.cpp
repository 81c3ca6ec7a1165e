#include "score/digest_query.h"

#include "score/digest_testing.h"
#include "score/job_score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::score {

namespace {

using std::chrono::seconds;
using testing::kStart;
using testing::RecordOfGpus;

double score_of(const Digest& digest) {
    return score_job(digest).score.point;
}

}  // namespace

TEST(score, a_record_scores_the_same_before_and_after_sealing) {
    RecordOfGpus fixture;
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
    RecordOfGpus fixture;
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
    RecordOfGpus fixture;
    fixture.held("n1", "GPU-mine", 0, 50);
    fixture.samples("n1", "GPU-mine", 0, 50, 0.5);
    fixture.samples("n1", "GPU-foreign", 0, 50, 1);
    fixture.counted(1);
    JobScore job = score_job(fixture.digest(true));
    EXPECT_NEAR(job.score.point, 50, 1e-6);
    EXPECT_EQ(job.gpus.size(), 1U);
    EXPECT_THAT(job.notes, ::testing::Contains(
                               ::testing::HasSubstr("1 devices were sampled that the job did not hold")));
}

TEST(score, without_an_allocation_all_that_was_sampled_counts) {
    RecordOfGpus fixture;
    fixture.samples("n1", "GPU-0", 0, 50, 0.5);
    fixture.samples("n2", "GPU-0", 0, 50, 1);  // the same UUID on another node
    EXPECT_NEAR(score_of(fixture.digest(true)), 75, 1e-6);
}

TEST(score, where_only_nodes_are_allocated_their_devices_count) {
    RecordOfGpus fixture;
    fixture.held("n1", "", 0, 100);
    fixture.samples("n1", "GPU-0", 0, 50, 0.8);  // then it vanished
    JobScore job = score_job(fixture.digest(true));
    EXPECT_NEAR(job.score.coverage, 0.5, 1e-9);
    EXPECT_NEAR(job.score.low, 40, 1e-6);
    EXPECT_NEAR(job.score.high, 90, 1e-6);
}

TEST(score, steps_are_scored_by_what_each_held) {
    RecordOfGpus fixture;
    fixture.held("n1", "GPU-0", 0, 50, "0");
    fixture.held("n1", "GPU-0", 50, 100, "1");
    fixture.samples("n1", "GPU-0", 0, 50, 0.2);
    fixture.samples("n1", "GPU-0", 50, 100, 0.8);
    EXPECT_NEAR(score_of(fixture.digest(true)), 50, 1e-6);
    EXPECT_NEAR(score_of(fixture.digest(true, "0")), 20, 1e-6);
    const Digest later = fixture.digest(true, "1");
    EXPECT_NEAR(score_of(later), 80, 1e-6);
    EXPECT_EQ(later.start, kStart + seconds(50)) << "nothing of before is its start-up";
    EXPECT_EQ(later.job.size(), 50U);
    auto archive = record::Archive::open(fixture.path());
    EXPECT_THAT(steps_of(*archive).value(), ::testing::ElementsAre("0", "1"));
}

TEST(score, a_step_without_gpus_holds_none_of_those_beside_it) {
    RecordOfGpus record;
    record.held("n1", "", 0, 100, "0");
    record.held("n1", "", 0, 100, "1");
    record.held("n1", "GPU-a", 0, 100, "1");
    record.samples("n1", "GPU-a", 0, 100, 0.5);
    EXPECT_TRUE(record.digest(false, "0").empty());
    EXPECT_NEAR(score_job(record.digest(false, "1")).score.point, 50, 1e-6);
}

TEST(score, rows_in_any_order_score_the_same) {
    RecordOfGpus fixture;
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
    RecordOfGpus fixture;
    fixture.held("n1", "GPU-0", 0, 100);
    fixture.utilization("n1", "GPU-0", 0, 98, 0.9);
    fixture.utilization("n1", "GPU-0", 98, 100, 0);
    JobScore job = score_job(fixture.digest(true));
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_TRUE(std::isnan(job.gpus.at(0).score.point));
    EXPECT_NEAR(job.score.high, 98, 1e-6);
    EXPECT_THAT(job.notes, ::testing::Contains(::testing::HasSubstr("utilisation alone")));
}

TEST(score, foreign_files_have_the_declared_types_or_are_refused) {
    RecordOfGpus fixture;
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
    EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("yesterday"));
}

TEST(score, a_record_without_gpus_has_an_empty_digest) {
    RecordOfGpus fixture;
    fixture.held("n1", "", 0, 100);
    EXPECT_TRUE(fixture.digest(true).empty());
}

TEST(score, a_damaged_table_is_not_an_empty_one) {
    RecordOfGpus fixture;
    fixture.held("n1", "GPU-0", 0, 50);
    fixture.samples("n1", "GPU-0", 0, 50, 0.2);
    fixture.seal();
    const auto file = record::tables_path(fixture.path()) / "gpu.parquet";
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
    auto archive = record::Archive::open(fixture.path());
    auto refused = read_digest(*archive);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("gpu.parquet cannot be read"));
}

}  // namespace belay::score
