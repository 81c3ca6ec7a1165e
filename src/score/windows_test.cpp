#include "score/windows.h"

#include "score/score_testing.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace belay::score {
namespace {

using namespace std::chrono_literals;
using testing::activity;
using testing::Random;

constexpr int64_t kStart = 1'700'000'000;

core::Time at(double seconds) {
    return core::time_from_nanoseconds(kStart * 1'000'000'000 +
                                       static_cast<int64_t>(std::llround(seconds * 1e9)));
}

struct Sample {
    core::Time time;
    Activity activity;
};

std::vector<Window> windows_of(std::span<const Sample> samples, core::Duration interval) {
    WindowBuilder builder(interval);
    std::vector<Window> windows;
    for (const Sample& sample : samples)
        for (const Window& window : builder.add(sample.time, sample.activity)) windows.push_back(window);
    for (const Window& window : builder.finish()) windows.push_back(window);
    return windows;
}

double tensor_of(const Window& window) {
    return window.activity.active[static_cast<size_t>(Limit::kTensor)];
}

TEST(score, samples_of_a_second_are_windows) {
    std::vector<Sample> samples;
    for (int i = 1; i <= 3; ++i) samples.push_back({at(i + 0.3), activity({.tensor = 0.1 * i})});
    auto windows = windows_of(samples, 1s);
    ASSERT_EQ(windows.size(), 3U);
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(windows[i].end, samples[i].time);
        EXPECT_EQ(windows[i].length, 1s);
        EXPECT_EQ(windows[i].averaging, Averaging::kFine);
        EXPECT_DOUBLE_EQ(tensor_of(windows[i]), 0.1 * static_cast<double>(i + 1));
    }
}

TEST(score, finer_samples_are_averaged_before_anything_else) {
    std::vector<Sample> samples;
    for (int i = 1; i <= 20; ++i) samples.push_back({at(0.1 * i), activity({.tensor = i <= 5 ? 0.8 : 0.2})});
    auto windows = windows_of(samples, 100ms);
    ASSERT_EQ(windows.size(), 2U);
    EXPECT_NEAR(tensor_of(windows[0]), 0.5, 1e-12);
    EXPECT_NEAR(tensor_of(windows[1]), 0.2, 1e-12);
    EXPECT_EQ(windows[0].length, 1s);
}

TEST(score, sampling_faster_changes_nothing) {
    Random random(6);
    for (int per_window : {2, 5, 10}) {
        std::vector<Sample> slow;
        std::vector<Sample> fast;
        for (int second = 1; second <= 50; ++second) {
            Activity mean = random.activity();
            slow.push_back({at(second), mean});
            for (int i = 1; i <= per_window; ++i)
                fast.push_back({at(second - 1 + static_cast<double>(i) / per_window), mean});
        }
        auto few = windows_of(slow, 1s);
        auto many = windows_of(fast, 1000ms / per_window);
        ASSERT_EQ(few.size(), many.size());
        for (size_t i = 0; i < few.size(); ++i) {
            auto first = score_window(few[i].activity, testing::example_ceilings());
            auto second = score_window(many[i].activity, testing::example_ceilings());
            ASSERT_NEAR(first->shares.saturated, second->shares.saturated, 1e-9);
        }
    }
}

TEST(score, duplicates_change_nothing) {
    std::vector<Sample> samples;
    for (int i = 1; i <= 5; ++i)
        for (int copy = 0; copy < 3; ++copy) samples.push_back({at(i), activity({.tensor = 0.1 * i})});
    EXPECT_EQ(windows_of(samples, 1s).size(), 5U);
}

TEST(score, a_gap_is_missing) {
    std::vector<Sample> samples = {{at(1), activity({})}, {at(2), activity({})}, {at(9), activity({})}};
    auto windows = windows_of(samples, 1s);
    ASSERT_EQ(windows.size(), 3U);
    EXPECT_EQ(windows[2].length, 1s) << "what it covers of the seven seconds";
}

TEST(score, longer_samples_are_coarse) {
    std::vector<Sample> samples = {{at(10), activity({})}, {at(20), activity({})}};
    for (const Window& window : windows_of(samples, 10s)) {
        EXPECT_EQ(window.averaging, Averaging::kCoarse);
        EXPECT_EQ(window.length, 10s);
    }
}

TEST(score, what_was_sampled_in_part_of_a_window_is_averaged_over_that) {
    Activity blank;
    std::vector<Sample> samples = {
        {at(0.5), activity({.tensor = 0.6})}, {at(1), blank}, {at(1.5), blank}, {at(2), blank}};
    auto windows = windows_of(samples, 500ms);
    ASSERT_EQ(windows.size(), 2U);
    EXPECT_DOUBLE_EQ(tensor_of(windows[0]), 0.6);
    EXPECT_TRUE(std::isnan(tensor_of(windows[1])));
}

}  // namespace
}  // namespace belay::score
