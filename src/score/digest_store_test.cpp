#include "score/digest_store.h"

#include "score/digest_testing.h"
#include "score/job_score.h"

#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::score {

namespace {

using std::chrono::seconds;
using testing::kStart;
using testing::RecordOfGpus;

// Two nodes of two GPUs; one is never sampled.
void fill(RecordOfGpus& record) {
    for (int node = 1; node <= 2; ++node)
        for (int gpu = 0; gpu < 2; ++gpu) {
            const std::string name = fmt::format("n{}", node);
            const std::string uuid = fmt::format("GPU-{}-{}", node, gpu);
            record.device(name, uuid, gpu);
            record.held(name, uuid, 0, 700);
            if (node != 2 || gpu != 1) record.samples(name, uuid, 0, 650, 0.3 * node + 0.1 * gpu);
        }
    record.utilization("n1", "GPU-1-0", 650, 690, 0);
    record.counted(1);
    record.seal();
}

Digest kept(const RecordOfGpus& record, Detail detail = Detail::kFull,
            const std::vector<DeviceCeilings>& ceilings = builtin_ceilings()) {
    auto archive = open_record(record.path());
    auto digest = digest_of(archive.value(), ceilings, detail);
    EXPECT_TRUE(digest) << digest.error().message();
    return digest.value_or(Digest{});
}

bool is_kept(const RecordOfGpus& record, const std::vector<DeviceCeilings>& ceilings = builtin_ceilings()) {
    auto archive = open_record(record.path());
    return attach_digest(archive.value(), ceilings).value_or(false);
}

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

void expect_same(const GpuDigest& a, const GpuDigest& b) {
    SCOPED_TRACE(a.device);
    EXPECT_EQ(a.node, b.node);
    EXPECT_EQ(a.device, b.device);
    EXPECT_EQ(a.index, b.index);
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.mig_profile, b.mig_profile);
    EXPECT_EQ(a.ceilings.match, b.ceilings.match);
    EXPECT_EQ(a.histogram, b.histogram);
    for (auto field : {&Totals::allocated, &Totals::observed, &Totals::slack})
        EXPECT_EQ(a.totals.*field, b.totals.*field);
    for (auto field : {&Shares::idle, &Shares::gap, &Shares::unsaturated, &Shares::saturated})
        EXPECT_EQ(a.totals.shares.*field, b.totals.shares.*field);
    for (auto field :
         {&GpuDigest::weight, &GpuDigest::energy_joules, &GpuDigest::memory_total_bytes, &GpuDigest::flop_use,
          &GpuDigest::link_bound_seconds, &GpuDigest::uncounted_seconds, &GpuDigest::gap_unknown_seconds,
          &GpuDigest::clock_unknown_seconds, &GpuDigest::integer_unknown_seconds, &GpuDigest::pipes_mean})
        EXPECT_TRUE(same(a.*field, b.*field)) << a.*field << " " << b.*field;
    for (size_t i = 0; i < kQuantities; ++i) {
        EXPECT_TRUE(same(a.whole[i], b.whole[i]));
        ASSERT_EQ(a.series[i].size(), b.series[i].size());
        for (size_t bucket = 0; bucket < a.series[i].size(); ++bucket)
            EXPECT_TRUE(same(a.series[i][bucket], b.series[i][bucket])) << i << " " << bucket;
    }
}

}  // namespace

TEST(score, a_kept_digest_is_the_one_that_was_made) {
    RecordOfGpus record;
    fill(record);
    const Digest made = record.digest(true);
    EXPECT_FALSE(is_kept(record));
    EXPECT_TRUE(keep_digest(record.path()).value());
    EXPECT_FALSE(keep_digest(record.path()).value()) << "it is there already";
    ASSERT_TRUE(is_kept(record));
    const Digest again = kept(record);
    EXPECT_EQ(again.start, made.start);
    EXPECT_EQ(again.end, made.end);
    EXPECT_EQ(again.interval_seconds, made.interval_seconds);
    EXPECT_EQ(again.bucket_seconds, made.bucket_seconds);
    EXPECT_EQ(again.buckets, made.buckets);
    EXPECT_EQ(again.notes, made.notes);
    ASSERT_EQ(again.gpus.size(), made.gpus.size());
    for (size_t i = 0; i < made.gpus.size(); ++i) expect_same(again.gpus[i], made.gpus[i]);
    ASSERT_EQ(again.job.size(), made.job.size());
    for (size_t i = 0; i < made.job.size(); ++i)
        for (auto field : {&JobWindow::observed, &JobWindow::saturated, &JobWindow::sm, &JobWindow::tensor,
                           &JobWindow::power_watts, &JobWindow::link_bytes_per_second})
            if (made.job[i].observed > 0) {
                EXPECT_TRUE(same(made.job[i].*field, again.job[i].*field)) << i;
            }
    EXPECT_EQ(score_job(again).score.point, score_job(made).score.point);
    EXPECT_EQ(score_job(made).memory_peak_bytes, testing::kMemoryUsedBytes);
    const JobScore short_one = score_job(kept(record, Detail::kScore));
    EXPECT_EQ(short_one.score.point, score_job(made).score.point);
    EXPECT_EQ(short_one.memory_peak_bytes, testing::kMemoryUsedBytes);
    auto archive = record::Archive::open(record.path());
    const auto short_read = read_digest(archive.value(), builtin_ceilings(), std::nullopt, Detail::kScore);
    EXPECT_EQ(score_job(short_read.value()).memory_peak_bytes, testing::kMemoryUsedBytes);
}

TEST(score, a_kept_digest_serves_when_the_samples_are_gone) {
    RecordOfGpus record;
    fill(record);
    const double score = score_job(record.digest(true)).score.point;
    ASSERT_TRUE(keep_digest(record.path()));
    std::ofstream(record.path() / "tables/gpu.parquet") << "damaged";
    EXPECT_EQ(score_job(kept(record)).score.point, score);
    std::filesystem::remove(record.path() / "tables/gpu.parquet");
    EXPECT_EQ(score_job(kept(record)).score.point, score);
    std::filesystem::remove(record.path() / "tables/gpu_summary.parquet");
    EXPECT_FALSE(open_record(record.path())) << "now something is missing";
}

TEST(score, no_digest_is_kept_of_a_record_that_cannot_be_read_as_a_whole) {
    RecordOfGpus record;
    fill(record);
    const std::filesystem::path allocation = record.path() / "tables/allocation.parquet";
    const std::filesystem::path away = record.path() / "away";
    std::filesystem::rename(allocation, away);
    std::ofstream(allocation) << "damaged";
    auto refused = keep_digest(record.path());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find(allocation.string()), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(record.path() / "tables/gpu_summary.parquet"));
    std::filesystem::rename(away, allocation);
    EXPECT_TRUE(keep_digest(record.path()).value());
}

TEST(score, samples_that_were_thrown_away_are_not_taken_for_none) {
    RecordOfGpus record;
    fill(record);
    ASSERT_TRUE(keep_digest(record.path()));
    std::filesystem::remove(record.path() / "tables/gpu.parquet");
    EXPECT_FALSE(record::Archive::open(record.path())) << "by who knows of no digest";
    EXPECT_TRUE(record::seal(record.path(), kStart, stand_ins())->sealed_before);
    EXPECT_FALSE(keep_digest(record.path()).value()) << "it holds";

    auto archive = open_record(record.path());
    ASSERT_TRUE(archive);
    EXPECT_TRUE(archive->is_thrown_away("gpu"));
    EXPECT_TRUE(archive->unreadable().contains("gpu"));
    EXPECT_EQ(archive->unreadable().size(), 1U);
    EXPECT_EQ(archive->info()->lost.size(), 1U);
    EXPECT_FALSE(read_digest(*archive, builtin_ceilings(), "0")) << "of a step nothing is kept";

    std::vector<DeviceCeilings> others = builtin_ceilings();
    others.push_back(find_ceilings(others, "Synthetic GPU 80GB"));
    others.back().match = "Synthetic GPU 80GB";
    others.back().ceilings.active[static_cast<size_t>(Limit::kDram)] *= 2;
    auto refused = digest_of(*archive, others);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_NE(refused.error().message().find("thrown away"), std::string::npos);
}

TEST(score, a_digest_that_holds_no_more_is_not_written_over_without_its_samples) {
    RecordOfGpus record;
    fill(record);
    ASSERT_TRUE(keep_digest(record.path()));
    auto manifest = record::read_manifest(record.path()).value();
    manifest.sealed = *manifest.sealed + seconds(1);
    ASSERT_TRUE(core::replace_file(record::manifest_path(record.path()), record::to_json(manifest)));
    std::filesystem::remove(record.path() / "tables/gpu.parquet");
    auto kept_files = [&] {
        std::vector<std::string> bytes;
        for (const schema::Table* table : schema::gpu_digest_tables())
            bytes.push_back(
                core::read_file(record.path() / "tables" / fmt::format("{}.parquet", table->name)).value());
        return bytes;
    };
    const std::vector<std::string> before = kept_files();
    auto refused = keep_digest(record.path());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("thrown away"), std::string::npos);
    EXPECT_EQ(kept_files(), before) << "it is all that there is of the samples";
}

TEST(score, a_digest_is_kept_in_a_directory_of_any_name) {
    RecordOfGpus record;
    fill(record);
    const auto other = record.path().parent_path() / "run[1]*";
    std::filesystem::copy(record.path(), other, std::filesystem::copy_options::recursive);
    EXPECT_TRUE(keep_digest(other).value());
    auto archive = open_record(other);
    ASSERT_TRUE(archive);
    EXPECT_TRUE(attach_digest(*archive).value());
    EXPECT_TRUE(archive->query("SELECT count(*) FROM gpu_series"));
}

TEST(score, damage_in_a_kept_digest_costs_only_time) {
    RecordOfGpus record;
    fill(record);
    const double score = score_job(record.digest(true)).score.point;
    ASSERT_TRUE(keep_digest(record.path()));
    for (const char* name : {"gpu_summary", "gpu_series", "job_series"}) {
        const auto file = record.path() / "tables" / fmt::format("{}.parquet", name);
        const std::string whole = core::read_file(file).value();
        std::string damaged = whole;
        for (size_t i = 4; i < std::min<size_t>(whole.size() / 3, 4000); ++i) damaged[i] = 0x55;  // pages
        ASSERT_TRUE(core::replace_file(file, damaged));
        EXPECT_EQ(score_job(kept(record)).score.point, score) << name;
        EXPECT_FALSE(is_kept(record)) << name;
        ASSERT_TRUE(core::replace_file(file, whole));
        EXPECT_TRUE(is_kept(record)) << name;
    }
}

TEST(score, damage_in_a_digest_whose_samples_were_thrown_away_is_told) {
    RecordOfGpus record;
    fill(record);
    ASSERT_TRUE(keep_digest(record.path()));
    std::filesystem::remove(record.path() / "tables/gpu.parquet");
    std::filesystem::resize_file(record.path() / "tables/gpu_series.parquet", 100);
    auto archive = open_record(record.path());
    ASSERT_TRUE(archive);
    for (const auto& refused : {digest_of(*archive).error(), keep_digest(record.path()).error()}) {
        EXPECT_THAT(refused.message(), ::testing::HasSubstr("thrown away, and their digest cannot be read"));
        EXPECT_THAT(refused.message(), ::testing::HasSubstr("gpu_series"));
    }
}

TEST(score, other_ceilings_make_another_digest) {
    RecordOfGpus record;
    fill(record);
    ASSERT_TRUE(keep_digest(record.path()));
    std::vector<DeviceCeilings> ceilings = builtin_ceilings();
    DeviceCeilings own = find_ceilings(ceilings, "Synthetic GPU 80GB");
    own.match = "Synthetic GPU 80GB";
    own.ceilings.active[static_cast<size_t>(Limit::kDram)] *= 2;
    ceilings.push_back(own);
    EXPECT_FALSE(is_kept(record, ceilings));
    EXPECT_NEAR(score_job(kept(record, Detail::kFull, ceilings)).score.point,
                score_job(kept(record)).score.point / 2, 0.1);
}

TEST(score, a_digest_of_another_sealing_or_in_part_is_not_believed) {
    RecordOfGpus record;
    fill(record);
    const double score = score_job(record.digest(true)).score.point;
    ASSERT_TRUE(keep_digest(record.path()));
    const auto series = record.path() / "tables/gpu_series.parquet";
    const std::string whole = core::read_file(series).value();
    std::filesystem::resize_file(series, whole.size() / 2);  // the rest was not copied
    EXPECT_FALSE(is_kept(record));
    EXPECT_EQ(score_job(kept(record)).score.point, score);
    EXPECT_TRUE(keep_digest(record.path()).value()) << "made again";
    EXPECT_TRUE(is_kept(record));

    RecordOfGpus other;
    other.held("n1", "GPU-9", 0, 10);
    other.samples("n1", "GPU-9", 0, 10, 0.9);
    other.seal();
    auto manifest = record::read_manifest(other.path()).value();
    manifest.sealed = *manifest.sealed + seconds(1);
    ASSERT_TRUE(core::replace_file(record::manifest_path(other.path()), record::to_json(manifest)));
    for (const char* name : {"gpu_summary.parquet", "gpu_series.parquet", "job_series.parquet"})
        std::filesystem::copy_file(record.path() / "tables" / name, other.path() / "tables" / name);
    EXPECT_FALSE(is_kept(other));
    EXPECT_NEAR(score_job(kept(other)).score.point, 90, 0.1);
}

TEST(score, only_sealed_records_with_gpus_keep_a_digest) {
    RecordOfGpus open;
    open.held("n1", "GPU-1", 0, 10);
    auto refused = keep_digest(open.path());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    RecordOfGpus without;
    without.seal();
    EXPECT_FALSE(keep_digest(without.path()).value());
}

}  // namespace belay::score
