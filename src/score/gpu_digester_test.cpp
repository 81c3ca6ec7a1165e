#include "score/gpu_digester.h"

#include "score/score_testing.h"

#include <random>

#include <gtest/gtest.h>

namespace belay::score {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const core::Time kStart = core::time_from_nanoseconds(1'700'000'000'000'000'000);

GpuSample sample_of(const testing::Given& given) {
    GpuSample sample;
    testing::set_activity(sample, testing::activity(given));
    return sample;
}

// One device that is held for `length`, with the ceilings of the worked examples.
struct OneGpu {
    explicit OneGpu(core::Duration length, core::Duration interval = seconds(1), Held held = {})
        : frame(make_frame(kStart, kStart + length, interval)) {
        gpu.ceilings.ceilings = testing::example_ceilings();
        gpu.ceilings.links[static_cast<size_t>(Link::kNvlink)] = 900e9;
        job.seconds.resize(static_cast<size_t>(length / seconds(1)));
        if (held.empty()) held = {{kStart, kStart + length}};
        digester.emplace(gpu, job, frame, held);
    }
    bool add(core::Duration after, const GpuSample& sample) { return digester->add(kStart + after, sample); }
    GpuDigest& finish() {
        digester->finish();
        return gpu;
    }
    GpuDigest gpu;
    JobSums job;
    Frame frame;
    std::optional<GpuDigester> digester;
};

}  // namespace

TEST(score, frame_holds_the_time_in_at_most_600_buckets) {
    testing::Random random(1);
    for (int i = 0; i < 2000; ++i) {
        const auto length = milliseconds(1 + static_cast<int64_t>(std::pow(10, random.between(0, 9))));
        const auto interval = milliseconds(1 + static_cast<int64_t>(std::pow(10, random.between(0, 5))));
        Frame frame = make_frame(kStart, kStart + length, interval);
        EXPECT_GE(frame.bucket, seconds(1));
        EXPECT_GE(frame.bucket, interval);
        EXPECT_LE(frame.buckets, kMostBuckets);
        EXPECT_GE(frame.bucket * static_cast<int64_t>(frame.buckets), length);
        EXPECT_LT(frame.bucket * (static_cast<int64_t>(frame.buckets) - 1), length);
    }
    EXPECT_EQ(make_frame(kStart, kStart, seconds(1)).buckets, 1U);
}

TEST(score, digest_has_series_means_and_histogram) {
    OneGpu one(seconds(1200));  // buckets of 2 s
    for (int i = 1; i <= 1200; ++i) {
        GpuSample sample = sample_of({.dram = i <= 600 ? 0.4 : 0.8, .sm = 0.9, .engine = 1.0});
        sample[schema::gpu_field("memory_used_bytes")] = i;
        sample[schema::gpu_field("power_watts")] = 300;
        sample[schema::gpu_field("clock_event_reasons")] = i % 2 == 0 ? 0x4 : 0x20;
        EXPECT_TRUE(one.add(seconds(i), sample));
    }
    const GpuDigest& gpu = one.finish();
    ASSERT_EQ(one.frame.buckets, 600U);
    EXPECT_NEAR(gpu.series[kSaturated][0], 0.5, 1e-6);
    EXPECT_NEAR(gpu.series[kSaturated][599], 1.0, 1e-6);
    EXPECT_EQ(gpu.series[schema::gpu_quantity("memory_used_bytes")][0], 2);  // the highest of the bucket
    EXPECT_NEAR(gpu.series[schema::gpu_quantity("power_capped_share")][7], 0.5, 1e-6);
    EXPECT_NEAR(gpu.whole[schema::gpu_quantity("thermal_share")], 0.5, 1e-6);
    EXPECT_NEAR(gpu.whole[schema::gpu_quantity("slowdown_share")], 0, 1e-9);
    EXPECT_NEAR(gpu.whole[kSaturated], 0.75, 1e-6);
    EXPECT_NEAR(gpu.whole[schema::gpu_quantity("power_watts")], 300, 1e-3);
    EXPECT_NEAR(gpu.histogram[10], 600, 1e-9);
    EXPECT_NEAR(gpu.histogram[kHistogramBins - 1], 600, 1e-9);
    EXPECT_EQ(gpu.memory_peak_bytes(), 1200);
    EXPECT_TRUE(std::isnan(gpu.energy_joules));  // no counter
    EXPECT_TRUE(std::isnan(gpu.whole[schema::gpu_quantity("nvlink_bytes_per_second")]));
    EXPECT_NEAR(score_of(gpu.totals).point, 75, 1e-6);
}

TEST(score, digest_leaves_gaps_missing) {
    OneGpu one(seconds(100));
    for (int i = 1; i <= 100; ++i)
        if (i <= 40 || i > 50) one.add(seconds(i), sample_of({.dram = 0.48}));  // saturation 0.6
    const GpuDigest& gpu = one.finish();
    Score score = score_of(gpu.totals);  // worked example 11
    EXPECT_NEAR(score.low, 54, 1e-9);
    EXPECT_NEAR(score.point, 60, 1e-9);
    EXPECT_NEAR(score.high, 64, 1e-9);
    EXPECT_NEAR(score.coverage, 0.9, 1e-9);
    EXPECT_TRUE(std::isnan(gpu.series[kSaturated][45]));
    auto job = add_up(one.job, 1);
    EXPECT_TRUE(std::isnan(job[45].saturated));
    EXPECT_EQ(job[45].observed, 0);
    EXPECT_NEAR(job[39].saturated, 0.6, 1e-6);
    EXPECT_EQ(job[39].observed, 1);
}

// With one row missing here and there, which a longer reach of the next one would cover
// (record/series/sampling.h).
TEST(score, bounds_contain_the_truth_whatever_row_is_missing) {
    std::mt19937_64 random(13);
    for (int round = 0; round < 50; ++round) {
        OneGpu whole(seconds(100));
        OneGpu some(seconds(100));
        int rows = 0;
        bool was_there = true;
        for (int i = 1; i <= 100; ++i) {
            const GpuSample sample = sample_of({.dram = random() % 2 == 0 ? 0.0 : 0.8});
            whole.add(seconds(i), sample);
            was_there = !was_there || random() % 4 != 0;
            if (was_there) some.add(seconds(i), sample), ++rows;
        }
        const Score truth = score_of(whole.finish().totals);
        const Score score = score_of(some.finish().totals);
        EXPECT_NEAR(score.coverage, rows / 100.0, 1e-9) << "none stands for another";
        EXPECT_LE(score.low, truth.point + 1e-9);
        EXPECT_GE(score.high, truth.point - 1e-9);
    }
}

TEST(score, digest_counts_duplicates_once_and_notices_disorder) {
    OneGpu one(seconds(10));
    for (int i = 1; i <= 10; ++i) {
        EXPECT_TRUE(one.add(seconds(i), sample_of({.dram = 0.4})));
        EXPECT_TRUE(one.add(seconds(i), sample_of({.dram = 0.8})));  // the same moment again
    }
    EXPECT_FALSE(one.add(seconds(5), sample_of({.dram = 0.4})));
    EXPECT_NEAR(score_of(one.finish().totals).point, 50, 1e-9);
}

TEST(score, digest_counts_only_what_the_job_held) {
    OneGpu one(seconds(100), seconds(1),
               {{kStart + seconds(10), kStart + seconds(30)}, {kStart + seconds(20), kStart + seconds(50)}});
    for (int i = 1; i <= 100; ++i) one.add(seconds(i), sample_of({.dram = i > 10 && i <= 50 ? 0.8 : 0.1}));
    const GpuDigest& gpu = one.finish();
    EXPECT_NEAR(gpu.totals.allocated, 40, 1e-9);  // not 20 + 30
    EXPECT_NEAR(score_of(gpu.totals).point, 100, 1e-9);
    EXPECT_NEAR(score_of(gpu.totals).coverage, 1, 1e-9);
}

TEST(score, digest_adds_energy_over_resets) {
    OneGpu one(seconds(6));
    const double counter[] = {1000, 1300, 1600, 5, 305, 605};
    for (int i = 0; i < 6; ++i) {
        GpuSample sample = sample_of({.dram = 0.4});
        sample[schema::gpu_field("energy_joules_total")] = counter[i];
        one.add(seconds(i + 1), sample);
    }
    EXPECT_NEAR(one.finish().energy_joules, 1200, 1e-9);
}

TEST(score, digest_adds_energy_over_missing_values) {
    OneGpu one(seconds(3));
    for (double joules : {1000.0, std::nan(""), 9000.0}) {
        GpuSample sample = sample_of({.dram = 0.4});
        sample[schema::gpu_field("energy_joules_total")] = joules;
        one.add(seconds(joules == 1000 ? 1 : joules == 9000 ? 3 : 2), sample);
    }
    EXPECT_NEAR(one.finish().energy_joules, 8000, 1e-9);
}

TEST(score, job_sums_bear_jitter_of_the_samples) {
    OneGpu one(seconds(60));
    testing::Random random(2);
    for (int i = 0; i < 60; ++i) {
        GpuSample sample = sample_of({.dram = 0.4});
        sample[schema::gpu_field("power_watts")] = 300;
        const auto jitter = milliseconds(static_cast<int64_t>(random.between(-5, 5)));
        one.add(seconds(i) + milliseconds(500) + jitter, sample);
    }
    one.finish();
    auto job = add_up(one.job, 1);
    for (size_t i = 1; i < 59; ++i) {
        EXPECT_NEAR(job[i].power_watts, 300, 1e-2) << i;
        EXPECT_NEAR(job[i].saturated, 0.5, 1e-5) << i;
    }
}

TEST(score, digest_of_a_wrong_clock_takes_no_memory) {
    Frame frame = make_frame(core::time_from_nanoseconds(0), kStart, seconds(1));
    EXPECT_EQ(seconds_of(frame), 0U);
    GpuDigest gpu;
    JobSums job;
    job.seconds.resize(seconds_of(frame));
    GpuDigester digester(gpu, job, frame, {{core::time_from_nanoseconds(0), kStart}});
    EXPECT_TRUE(digester.add(kStart, sample_of({.dram = 0.4})));
    digester.finish();
    EXPECT_NEAR(score_of(gpu.totals).coverage, 0, 1e-6);
}

TEST(score, digest_knows_that_nothing_ran_without_counters) {
    OneGpu one(seconds(30));
    for (int i = 1; i <= 30; ++i) {
        GpuSample sample;  // no counters of pipes
        if (i <= 10) sample[schema::gpu_field("processes")] = 0;
        if (i > 10 && i <= 20) sample[schema::gpu_field("utilization_ratio")] = 0;
        if (i > 20) sample[schema::gpu_field("utilization_ratio")] = 0.5;  // says nothing of saturation
        one.add(seconds(i), sample);
    }
    Score score = score_of(one.finish().totals);
    EXPECT_NEAR(score.coverage, 2.0 / 3, 1e-9);
    EXPECT_EQ(score.point, 0);
    EXPECT_NEAR(score.high, 100.0 / 3, 1e-6);
}

TEST(score, digest_knows_time_that_waited_for_a_link) {
    OneGpu one(seconds(30));
    for (int i = 1; i <= 30; ++i) {
        GpuSample sample = sample_of({.dram = i <= 10 ? 0.1 : 0.8});
        sample[schema::gpu_field("nvlink_sent_bytes_per_second")] = i <= 20 ? 600e9 : 10e9;
        one.add(seconds(i), sample);
    }
    const GpuDigest& digest = one.finish();
    EXPECT_NEAR(digest.link_bound_seconds, 10, 1e-9);
    const double bandwidth = digest.ceilings.links[static_cast<size_t>(Link::kNvlink)];
    EXPECT_NEAR(digest.series[schema::gpu_quantity("link_share")].front(), 600e9 / bandwidth, 1e-6);
    EXPECT_NEAR(digest.whole[schema::gpu_quantity("link_share")], (20 * 600e9 + 10 * 10e9) / 30 / bandwidth,
                1e-6);
}

TEST(score, digest_does_not_depend_on_sampling_finer_than_a_window) {
    testing::Random random(5);
    std::vector<double> dram;
    for (int i = 0; i < 1000; ++i) dram.push_back(random.between(0, 0.8));
    OneGpu fine(seconds(100), milliseconds(100));
    for (int i = 1; i <= 1000; ++i)
        fine.add(milliseconds(100 * i), sample_of({.dram = dram[static_cast<size_t>(i - 1)]}));
    OneGpu coarse(seconds(100));
    for (int i = 1; i <= 100; ++i) {
        double mean = 0;
        for (int j = 0; j < 10; ++j) mean += dram[static_cast<size_t>(10 * (i - 1) + j)] / 10;
        coarse.add(seconds(i), sample_of({.dram = mean}));
    }
    const GpuDigest& a = fine.finish();
    const GpuDigest& b = coarse.finish();
    EXPECT_NEAR(score_of(a.totals).point, score_of(b.totals).point, 1e-9);
    for (size_t i = 0; i < 100; ++i) {
        EXPECT_NEAR(a.series[kSaturated][i], b.series[kSaturated][i], 1e-5);
        EXPECT_NEAR(add_up(fine.job, 1)[i].saturated, add_up(coarse.job, 1)[i].saturated, 1e-5);
    }
}

TEST(score, a_window_is_idle_if_all_of_it_was) {
    OneGpu one(seconds(40), milliseconds(250));
    for (int i = 1; i <= 160; ++i) {
        GpuSample sample;  // no counters of pipes
        sample[schema::gpu_field("utilization_ratio")] =
            i > 80 || i % 4 == 0 ? 0 : 1;  // each second ends idle; the last 20 s are
        one.add(milliseconds(250 * i), sample);
    }
    EXPECT_NEAR(one.finish().uncounted_seconds, 20, 1e-9);
}

TEST(score, a_moment_without_use_is_no_idle_minute) {
    OneGpu one(seconds(600), seconds(60));
    for (int i = 1; i <= 10; ++i) {
        GpuSample sample;
        sample[schema::gpu_field("utilization_ratio")] = 0;
        if (i > 5) sample[schema::gpu_field("processes")] = 0;
        one.add(seconds(60 * i), sample);
    }
    EXPECT_EQ(one.finish().uncounted_seconds, 0);
}

TEST(score, samples_that_come_early_keep_power_and_links) {
    OneGpu one(seconds(10));
    for (int i = 1; i <= 10; ++i) {
        GpuSample sample = sample_of({.dram = 0.4});
        sample[schema::gpu_field("power_watts")] = 500;
        sample[schema::gpu_field("nvlink_sent_bytes_per_second")] = 1e9;
        one.add(milliseconds(1000 * i - (i % 2 == 0 ? 150 : 0)), sample);
    }
    one.finish();
    for (const JobWindow& second : add_up(one.job, 1)) {
        if (second.observed < 0.5) continue;
        EXPECT_NEAR(second.power_watts, 500 * second.observed, 0.01);
        EXPECT_NEAR(second.link_bytes_per_second, 1e9 * second.observed, 1000);
    }
}

TEST(score, a_missing_reading_does_not_reset_the_highest) {
    constexpr double kHighest = 85'899'345'921;  // has more digits than a series holds
    OneGpu one(seconds(10));
    for (int i = 1; i <= 3; ++i) {
        GpuSample sample = sample_of({.dram = 0.4});
        const double value = i == 1 ? kHighest : i == 2 ? std::nan("") : 10;
        sample[schema::gpu_field("temperature_celsius")] = value;
        sample[schema::gpu_field("memory_used_bytes")] = value;
        EXPECT_TRUE(one.add(seconds(i), sample));
    }
    const GpuDigest& gpu = one.finish();
    EXPECT_EQ(gpu.memory_peak_bytes(), kHighest);
    EXPECT_EQ(gpu.whole[schema::gpu_quantity("temperature_celsius")], kHighest)
        << "the highest, as its column says";
}

TEST(score, without_counters_of_links_the_job_has_none) {
    OneGpu one(seconds(2));
    GpuSample sample = sample_of({.dram = 0.4});
    one.add(seconds(1), sample);
    sample[schema::gpu_field("pcie_sent_bytes_per_second")] = 5e9;
    one.add(seconds(2), sample);
    one.finish();
    const std::vector<JobWindow> job = add_up(one.job, 1);
    EXPECT_TRUE(std::isnan(job[0].link_bytes_per_second));
    EXPECT_EQ(job[1].link_bytes_per_second, 5e9F);
}

}  // namespace belay::score
