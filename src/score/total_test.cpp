#include "score/total.h"

#include "score/score_testing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace belay::score {
namespace {

using testing::Random;
using testing::saturated;

TEST(score, example_9_a_device_more_that_idles) {
    Totals totals;
    for (int device = 0; device < 4; ++device) {
        totals.allocate(1, 100);
        totals.add(1, 100, saturated(0.5));
    }
    EXPECT_NEAR(score_of(totals).point, 50, 1e-9);
    totals.allocate(1, 100);
    totals.add(1, 100, saturated(0));
    EXPECT_NEAR(score_of(totals).point, 40, 1e-9);
    EXPECT_NEAR(score_of(totals).shares.idle, (4 * 0.5 + 1) / 5, 1e-9);
}

TEST(score, example_11_what_is_missing_bounds_it) {
    Totals totals;
    totals.allocate(1, 100);
    totals.add(1, 90, saturated(0.6));
    Score score = score_of(totals);
    EXPECT_NEAR(score.low, 54, 1e-9);
    EXPECT_NEAR(score.high, 64, 1e-9);
    EXPECT_NEAR(score.point, 60, 1e-9);
    EXPECT_NEAR(score.coverage, 0.9, 1e-12);
    EXPECT_TRUE(score.graded());
}

TEST(score, example_12_parts_add_up_to_the_whole) {
    Totals first;
    first.allocate(1, 7200);
    first.add(1, 7200, saturated(0.5));
    Totals second;
    second.allocate(1, 2400);
    second.add(1, 2400, saturated(0.9));
    first.merge(second);
    EXPECT_NEAR(score_of(first).point, 60, 1e-9);
}

TEST(score, example_13_long_windows_weigh_more) {
    Totals totals;
    totals.allocate(1, 4);
    totals.add(1, 1, saturated(0.2));
    totals.add(1, 3, saturated(0.6));
    EXPECT_NEAR(score_of(totals).point, 50, 1e-9);
}

TEST(score, example_16_a_late_node_counts) {
    Totals totals;
    for (int device = 0; device < 8; ++device) {
        totals.allocate(1, 100);
        bool late = device >= 4;
        totals.add(1, late ? 75 : 100, saturated(0.8));
        if (late) totals.add(1, 25, saturated(0));
    }
    EXPECT_NEAR(score_of(totals).point, 70, 1e-9);
}

TEST(score, example_17_slices_weigh_their_fraction) {
    Totals totals;
    totals.allocate(2.0 / 7, 100);
    totals.add(2.0 / 7, 100, saturated(0.9));
    totals.allocate(1, 100);
    totals.add(1, 100, saturated(0.3));
    EXPECT_NEAR(score_of(totals).point, 43.333, 0.001);
}

TEST(score, nothing_observed_is_no_number) {
    Totals totals;
    EXPECT_TRUE(std::isnan(score_of(totals).point));
    totals.allocate(1, 10);
    Score score = score_of(totals);
    EXPECT_TRUE(std::isnan(score.point));
    EXPECT_EQ(score.low, 0);
    EXPECT_EQ(score.high, 100);
    EXPECT_EQ(score.coverage, 0);
    EXPECT_FALSE(score.graded());
}

TEST(score, observed_beyond_the_allocation_extends_it) {
    Totals totals;
    totals.allocate(1, 10);
    totals.add(1, 10.5, saturated(1));
    EXPECT_NEAR(score_of(totals).point, 100, 1e-9);
    EXPECT_EQ(score_of(totals).coverage, 1);
}

struct Sample {
    double weight;
    double seconds;
    WindowScore window;
};

std::vector<Sample> random_samples(Random& random) {
    std::vector<Sample> samples;
    auto count = static_cast<size_t>(random.between(1, 60));
    for (size_t i = 0; i < count; ++i)
        samples.push_back({random.chance(0.2) ? random.between(0.1, 1) : 1, random.between(0.1, 3),
                           *score_window(random.activity(), testing::example_ceilings())});
    return samples;
}

Totals sum(std::span<const Sample> samples) {
    Totals totals;
    for (const Sample& sample : samples) {
        totals.allocate(sample.weight, sample.seconds);
        totals.add(sample.weight, sample.seconds, sample.window);
    }
    return totals;
}

TEST(score, order_and_shards_do_not_matter) {
    Random random(4);
    for (int round = 0; round < 300; ++round) {
        auto samples = random_samples(random);
        const Score whole = score_of(sum(samples));
        std::ranges::shuffle(samples, random.engine());
        Totals merged;
        for (size_t from = 0; from < samples.size();) {
            size_t to = std::min(samples.size(), from + static_cast<size_t>(random.between(1, 20)));
            merged.merge(sum(std::span(samples).subspan(from, to - from)));
            from = to;
        }
        ASSERT_NEAR(score_of(merged).point, whole.point, 1e-9);
        const Shares& s = whole.shares;
        ASSERT_NEAR(s.idle + s.gap + s.unsaturated + s.saturated, 1, 1e-9);
    }
}

TEST(score, bounds_contain_the_truth_whatever_is_lost) {
    Random random(5);
    for (int round = 0; round < 300; ++round) {
        auto samples = random_samples(random);
        const double truth = score_of(sum(samples)).point;
        Totals seen;
        const double lost = random.ratio();
        for (const Sample& sample : samples) {
            seen.allocate(sample.weight, sample.seconds);
            if (!random.chance(lost)) seen.add(sample.weight, sample.seconds, sample.window);
        }
        Score score = score_of(seen);
        ASSERT_LE(0, score.low);
        ASSERT_LE(score.low, truth + 1e-9);
        ASSERT_LE(truth, score.high + 1e-9);
        ASSERT_LE(score.high, 100);
        if (std::isnan(score.point)) continue;
        ASSERT_LE(score.low, score.point);
        ASSERT_LE(score.point, score.high);
    }
}

}  // namespace
}  // namespace belay::score
