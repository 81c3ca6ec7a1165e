#include "score/job_score.h"

#include "score/compare.h"
#include "score/digest_tables.h"
#include "score/gpu_digester.h"
#include "score/score_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::score {

namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

const core::Time kStart = core::time_from_nanoseconds(1'700'000'000'000'000'000);

// A job whose GPU i has the activity that `of(i, second)` gives.
template <typename Of>
Digest digest_of(size_t gpus, int length, Of of, double weight_of_first = 1) {
    Digest digest{.start = kStart, .end = kStart + seconds(length)};
    Frame frame = make_frame(kStart, kStart + seconds(length), seconds(1));
    digest.buckets = frame.buckets;
    digest.bucket_seconds = core::to_seconds(frame.bucket);
    JobSums sums;
    sums.seconds.resize(static_cast<size_t>(length));
    digest.gpus.resize(gpus);
    double weight = 0;
    for (size_t i = 0; i < gpus; ++i) {
        GpuDigest& gpu = digest.gpus[i];
        gpu.node = fmt::format("n{}", i / 4);
        gpu.device = fmt::format("GPU-{}", i);
        gpu.index = static_cast<int64_t>(i % 4);
        gpu.name = "Synthetic GPU 80GB";
        gpu.ceilings = find_ceilings(builtin_ceilings(), gpu.name);
        if (i == 0) gpu.weight = weight_of_first;
        weight += gpu.weight;
        GpuDigester digester(gpu, sums, frame, {{kStart, kStart + seconds(length)}});
        for (int second = 1; second <= length; ++second) {
            GpuSample sample;
            testing::set_activity(sample, testing::activity(of(i, second)));
            sample[schema::gpu_field("power_watts")] = 500;
            sample[schema::gpu_field("energy_joules_total")] = 500.0 * second;
            digester.add(kStart + seconds(second), sample);
        }
        digester.finish();
    }
    digest.job = add_up(sums, weight);
    return digest;
}

const Change& change_of(const std::vector<Change>& changes, std::string_view name) {
    auto found = std::ranges::find(changes, name, &Change::name);
    EXPECT_NE(found, changes.end()) << name;
    return *found;
}

}  // namespace

TEST(score, a_job_of_gemm_is_at_its_ceiling_and_compute_bound) {
    JobScore job =
        score_job(digest_of(4, 120, [](size_t, int) { return testing::Given{.tensor = 0.9, .dram = 0.3}; }));
    EXPECT_GT(job.score.point, 95);
    EXPECT_EQ(job.bound, Bound::kCompute);
    EXPECT_TRUE(job.calibrated);
    EXPECT_EQ(job.gpus.size(), 4U);
    EXPECT_EQ(job.nodes.size(), 1U);
    EXPECT_NEAR(job.energy_wh, 4 * 500.0 * 119 / 3600, 1e-6);
    EXPECT_NEAR(job.imbalance, 0, 1e-9);
    EXPECT_NEAR(job.flop_use, 0.9, 1e-6);
}

TEST(score, a_job_of_copies_is_memory_bound_and_one_that_spins_by_nothing) {
    JobScore copy = score_job(digest_of(1, 60, [](size_t, int) { return testing::Given{.dram = 0.8}; }));
    EXPECT_GT(copy.score.point, 95);
    EXPECT_EQ(copy.bound, Bound::kMemory);
    JobScore spin = score_job(digest_of(1, 60, [](size_t, int) {
        return testing::Given{.fp32 = 0.93, .integer = 0.93, .sm = 1, .engine = 1};
    }));
    EXPECT_LT(spin.score.point, 5);
    EXPECT_EQ(spin.bound, Bound::kNone);
    EXPECT_NEAR(spin.busy_sm, 1, 1e-6);
    JobScore idle =
        score_job(digest_of(1, 60, [](size_t, int) { return testing::Given{.sm = 0, .engine = 0}; }));
    EXPECT_EQ(idle.score.point, 0);
    EXPECT_NEAR(idle.score.shares.idle, 1, 1e-9);
}

TEST(score, what_a_job_is_bound_by_is_not_known_where_a_limit_that_was_not_sampled_may_be) {
    const double missing = std::nan("");
    auto bound = [&](const testing::Given& given) {
        return score_job(digest_of(1, 60, [&](size_t, int) { return given; })).bound;
    };
    EXPECT_EQ(bound({.tensor = missing, .dram = 0.3, .fp32 = missing}), std::nullopt);
    EXPECT_EQ(bound({.tensor = 0.5, .dram = missing}), std::nullopt);
    EXPECT_EQ(bound({.tensor = 0.5, .dram = 0.3, .fp32 = missing}), Bound::kCompute)
        << "more than DRAM anyhow";
    EXPECT_EQ(bound({.tensor = 0.1, .dram = 0.6, .fp32 = missing}), std::nullopt);
}

TEST(score, copies_are_told_from_kernels) {
    auto notes = [](double sm) {
        return score_job(
                   digest_of(1, 60, [sm](size_t, int) { return testing::Given{.dram = 0.4, .sm = sm}; }))
            .notes;
    };
    EXPECT_THAT(notes(0.2), ::testing::Contains(HasSubstr("copy-driven")));
    EXPECT_THAT(notes(0.6), Not(::testing::Contains(HasSubstr("copy-driven"))));
}

TEST(score, start_up_counts_but_not_in_the_steady_state) {
    // Worked example 10.
    JobScore job = score_job(
        digest_of(2, 100, [](size_t, int second) { return testing::Given{.dram = second <= 20 ? 0 : 0.6}; }));
    EXPECT_NEAR(job.score.point, 60, 1e-6);
    ASSERT_TRUE(job.startup_seconds);
    EXPECT_EQ(*job.startup_seconds, 20);
    EXPECT_NEAR(job.steady_state, 75, 1e-4);
}

TEST(score, a_slice_counts_by_its_weight) {
    // Worked example 17.
    JobScore job = score_job(digest_of(
        2, 60, [](size_t gpu, int) { return testing::Given{.dram = 0.8 * (gpu == 0 ? 0.9 : 0.3)}; },
        2.0 / 7));
    EXPECT_NEAR(job.score.point, 43.333, 0.001);
    EXPECT_NEAR(job.steady_state, 43.333, 0.01);
}

TEST(score, notes_tell_what_limits_a_score) {
    Digest digest = digest_of(1, 60, [](size_t, int) { return testing::Given{.dram = 0.8}; });
    digest.gpus[0].ceilings.calibrated = false;
    EXPECT_THAT(score_job(digest).notes, ::testing::Contains(HasSubstr("not calibrated")));
    digest.gpus[0].ceilings.match.clear();
    EXPECT_THAT(score_job(digest).notes, ::testing::Contains(HasSubstr("no ceilings for")));
    digest.gpus[0].clock_unknown_seconds = 60;
    digest.gpus[0].integer_unknown_seconds = 60;
    EXPECT_THAT(score_job(digest).notes, ::testing::Contains(HasSubstr("clocks were not sampled")));
    EXPECT_THAT(score_job(digest).notes, ::testing::Contains(HasSubstr("integer pipe was not sampled")));
    digest.gpus[0].totals.allocated = 600;
    EXPECT_THAT(score_job(digest).notes, ::testing::Contains(HasSubstr("too little for a verdict")));
    digest.gpus[0].totals.observed = 0;
    EXPECT_THAT(score_job(digest).notes, ::testing::Contains(HasSubstr("utilisation alone")));
}

TEST(score, comparison_tells_noise_from_change) {
    testing::Random random(3);
    auto noisy = [&](double level) {
        return digest_of(2, 600, [&random, level](size_t, int) {
            return testing::Given{.dram = 0.8 * (level + random.between(-0.1, 0.1))};
        });
    };
    const Digest base = noisy(0.5);
    const auto same = compare(base, noisy(0.5));
    EXPECT_FALSE(change_of(same, "steady_state").significant);
    EXPECT_LT(change_of(same, "steady_state").low, 0);
    const auto better = compare(base, noisy(0.6));
    EXPECT_TRUE(change_of(better, "steady_state").significant);
    EXPECT_NEAR(change_of(better, "steady_state").after - change_of(better, "steady_state").before, 10, 1);
    EXPECT_NEAR(change_of(better, "score").before, 50, 1);
}

TEST(score, a_gpu_that_was_not_sampled_is_no_saving) {
    const Digest all = digest_of(4, 600, [](size_t, int) { return testing::Given{.dram = 0.4}; });
    Digest some = all;
    some.gpus[3].energy_joules = std::numeric_limits<double>::quiet_NaN();
    for (JobWindow& second : some.job) {
        second.observed = 0.75F;
        second.power_watts *= 0.75F;
    }
    const auto changes = compare(all, some);
    EXPECT_FALSE(change_of(changes, "power_watts").significant);
    EXPECT_NEAR(change_of(changes, "power_watts").after, 2000, 1e-3);
    EXPECT_TRUE(std::isnan(change_of(changes, "energy_wh").after)) << "less than all is not the job's";
    EXPECT_THAT(score_job(some).notes, ::testing::Contains(HasSubstr("of 1 of the 4 GPUs no energy")));
}

TEST(score, comparison_is_rarely_wrong_about_equal_jobs) {
    testing::Random random(11);
    int wrong = 0;
    constexpr int kPairs = 100;
    auto noisy = [&] {
        // Seconds follow each other: a slow wave of random phase beside the noise.
        const double phase = random.between(0, 6);
        return digest_of(1, 400, [&random, phase](size_t, int second) {
            return testing::Given{.dram = 0.4 + 0.1 * std::sin(phase + second / 5.0) +
                                          random.between(-0.05, 0.05)};
        });
    };
    for (int i = 0; i < kPairs; ++i)
        wrong += change_of(compare(noisy(), noisy()), "steady_state").significant;
    EXPECT_LE(wrong, 12);  // 5 expected; more than 12 of 100 has a chance below 0.2 %
}

TEST(score, too_short_jobs_have_no_interval) {
    auto job = digest_of(1, 15, [](size_t, int) { return testing::Given{.dram = 0.8}; });
    EXPECT_TRUE(std::isnan(change_of(compare(job, job), "steady_state").low));
    EXPECT_FALSE(change_of(compare(job, job), "steady_state").significant);
}

TEST(score, tables_have_a_row_for_each_device_bucket_and_second) {
    Digest digest = digest_of(
        3, 120, [](size_t, int second) { return testing::Given{.dram = second <= 60 ? 0.4 : 0.8}; });
    auto tables = digest_tables(digest);
    ASSERT_EQ(tables.size(), 3U);
    EXPECT_EQ(tables[0].rows(), 3U);
    EXPECT_EQ(tables[1].rows(), 360U);
    EXPECT_EQ(tables[2].rows(), 120U);
    auto column = [](const stream::Batch& rows, std::string_view name) {
        for (size_t i = 0; i < rows.table().columns.size(); ++i)
            if (rows.table().columns[i].name == name) return i;
        ADD_FAILURE() << name;
        return size_t{0};
    };
    EXPECT_NEAR(tables[0].values(column(tables[0], "score")).reals[1], 75, 1e-6);
    EXPECT_NEAR(tables[0].values(column(tables[0], "saturated_share")).reals[1], 0.75, 1e-6);
    EXPECT_EQ(tables[0].values(column(tables[0], "nvlink_bytes_per_second")).present[1], 0);
    EXPECT_NEAR(tables[0].values(column(tables[0], "power_watts")).reals[2], 500, 1e-3);
    EXPECT_NEAR(tables[1].values(column(tables[1], "saturated_share")).reals[59], 0.5, 1e-6);
    EXPECT_NEAR(tables[1].values(column(tables[1], "saturated_share")).reals[60], 1, 1e-6);
    EXPECT_NEAR(tables[2].values(column(tables[2], "saturated_share")).reals[119], 1, 1e-6);
    EXPECT_NEAR(tables[2].values(column(tables[2], "power_watts")).reals[119], 1500, 1e-3);
    EXPECT_TRUE(digest_tables(Digest{})[0].empty());
}

}  // namespace belay::score
