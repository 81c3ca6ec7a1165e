#include "stage/bench/accelerators.h"

#include "core/file.h"

#include <map>
#include <mutex>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::HasSubstr;

class stage_bench_accelerators : public testing::Test {
  protected:
    std::vector<SampleRead> samples(uint64_t count) const {
        std::vector<SampleRead> reads;
        for (uint64_t number = 0; number < count; ++number) reads.push_back({.file = number});
        return reads;
    }

    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    core::Directory place = core::Directory::open(directory.path()).value();
    BenchOptions options = {};
    BenchReport report = {};
    BenchRun run{.directory = place, .options = options, .report = report};
    std::mutex mutex;
};

TEST_F(stage_bench_accelerators, read_each_sample_of_whole_steps_once) {
    for (const bool reads_in_step : {false, true}) {
        std::map<uint64_t, int> seen;
        const EmulatedLoop loop{
            .accelerators = 3, .batch = 2, .readers = 2, .ahead_samples = 4, .reads_in_step = reads_in_step};
        const auto epoch = run_emulated_epoch(run, loop, samples(20),
                                              [&](size_t reader, const SampleRead& sample) -> core::Result<> {
                                                  EXPECT_LT(reader, 6U);
                                                  const std::lock_guard lock(mutex);
                                                  ++seen[sample.file];
                                                  return {};
                                              });
        ASSERT_TRUE(epoch) << epoch.error().message();
        EXPECT_EQ(seen.size(), 18U) << "three steps of three batches";
        EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& one) { return one.second == 1; }));
        EXPECT_EQ(epoch->blocks.size(), 3U);
    }
}

TEST_F(stage_bench_accelerators, one_without_a_loader_reads_between_its_steps) {
    constexpr double kSeconds = 0.02;
    std::map<uint64_t, BenchClock::time_point> begun;
    const EmulatedLoop loop{
        .batch = 2, .ahead_samples = 2, .reads_in_step = true, .compute_seconds = kSeconds};
    ASSERT_TRUE(
        run_emulated_epoch(run, loop, samples(8), [&](size_t, const SampleRead& sample) -> core::Result<> {
            begun[sample.file] = BenchClock::now();
            return {};
        }));
    for (uint64_t step = 1; step < 4; ++step)
        EXPECT_GE(std::chrono::duration<double>(begun[2 * step] - begun[2 * step - 1]).count(), kSeconds);
}

TEST_F(stage_bench_accelerators, what_one_reader_cannot_do_ends_all) {
    const EmulatedLoop loop{.accelerators = 2, .batch = 2, .ahead_samples = 2};
    const auto failed =
        run_emulated_epoch(run, loop, samples(40), [&](size_t, const SampleRead& sample) -> core::Result<> {
            if (sample.file == 10) return core::system_error("no more");
            return {};
        });
    EXPECT_THAT(failed.error().message(), HasSubstr("no more"));
    EXPECT_FALSE(
        run_emulated_epoch(run, loop, samples(40), [&](size_t, const SampleRead& sample) -> core::Result<> {
            if (sample.file == 10) throw std::bad_alloc();
            return {};
        }));
}

TEST_F(stage_bench_accelerators, a_stop_ends_those_that_compute_for_hours) {
    std::atomic<bool> stop = false;
    options.stop = &stop;
    const EmulatedLoop loop{.accelerators = 2, .batch = 1, .ahead_samples = 20, .compute_seconds = 3600};
    std::atomic<int> read = 0;
    const auto stopped =
        run_emulated_epoch(run, loop, samples(40), [&](size_t, const SampleRead&) -> core::Result<> {
            if (++read == 40) stop = true;
            return {};
        });
    EXPECT_EQ(stopped.error().cause(), core::Cause::kCancelled);
}

}  // namespace
}  // namespace belay::stage
