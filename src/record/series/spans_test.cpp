#include "record/series/spans.h"

#include <cmath>
#include <random>
#include <utility>

#include <gmock/gmock.h>

namespace belay::record {
namespace {

constexpr SpanOutput kFirst[] = {{[](std::span<const double> sums) { return sums[0]; }}};
constexpr SpanOutput kRateAndIncrease[] = {kFirst[0], {kFirst[0].formula, schema::Fold::kIncrease}};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr Sampled kCounters[] = {Sampled::kCounter};
constexpr Sampled kStates[] = {Sampled::kState};
constexpr Sampled kUnsteady[] = {Sampled::kUnsteadyCounter};

// 10 buckets of 1 s, sampled each second.
SpanFrame frame() {
    return {.start_microseconds = 0, .bucket_seconds = 1, .buckets = 10, .interval_seconds = 1};
}

class Recording {
  public:
    Recording(const SpanFrame& frame, std::span<const Sampled> inputs)
        : node_(frame, inputs, kRateAndIncrease) {}
    Recording& at(double seconds, double value, uint64_t key = 0, double born = kNone) {
        node_.add({.time_microseconds = std::llround(seconds * 1e6),
                   .key = key,
                   .born_microseconds = born * 1e6,
                   .values = std::span(&value, 1)});
        return *this;
    }
    Spans end() { return node_.finish()[0]; }
    Spans increases() { return node_.finish()[1]; }

  private:
    NodeSpans node_;
};

double total(const Spans& spans) {
    double sum = 0;
    for (size_t bucket = spans.first(); bucket < spans.end(); ++bucket) sum += spans[bucket].weighted;
    return sum;
}

TEST(series, a_counter_is_a_rate_over_the_time_before_each_sample) {
    const Spans spans = Recording(frame(), kCounters).at(0, 100).at(1, 102).at(2, 105).end();
    EXPECT_EQ(spans[0].mean(), 2);
    EXPECT_EQ(spans[1].mean(), 3);
    EXPECT_TRUE(std::isnan(spans[2].mean()));
    EXPECT_EQ(spans[1].seconds, 1);
}

TEST(series, a_state_stands_for_the_time_before_its_sample) {
    const Spans spans = Recording(frame(), kStates).at(1, 7).at(2, 9).end();
    EXPECT_EQ(spans[0].mean(), 7) << "the first sample stands for an interval";
    EXPECT_EQ(spans[1].mean(), 9);
}

TEST(series, a_sample_is_spread_over_the_buckets_that_its_time_touches) {
    const Spans spans = Recording(frame(), kCounters).at(0.5, 0).at(2.0, 3).end();
    EXPECT_EQ(spans[0].mean(), 2);
    EXPECT_EQ(spans[0].seconds, 0.5);
    EXPECT_EQ(spans[1].weighted, 2);
}

TEST(series, a_counter_that_went_back_tells_nothing_of_that_time) {
    const Spans spans = Recording(frame(), kCounters).at(0, 100).at(1, 101).at(2, 1).at(3, 5).end();
    EXPECT_EQ(spans[0].mean(), 1);
    EXPECT_TRUE(std::isnan(spans[1].mean()));
    EXPECT_EQ(spans[2].mean(), 4);
    const Spans unsteady = Recording(frame(), kUnsteady).at(0, 100).at(1, 101).at(2, 100.5).end();
    EXPECT_EQ(unsteady[1].mean(), 0);
}

TEST(series, samples_that_lie_far_apart_tell_nothing_of_the_time_between) {
    const Spans spans = Recording(frame(), kCounters).at(0, 0).at(2.5, 5).at(6, 6).end();
    EXPECT_EQ(spans[1].mean(), 2) << "one sample may be missing";
    EXPECT_TRUE(std::isnan(spans[4].mean()));
}

TEST(series, a_missing_value_is_missing_in_both_steps_it_belongs_to) {
    const Spans spans = Recording(frame(), kCounters).at(0, 0).at(1, kNone).at(2, 4).at(3, 6).end();
    EXPECT_TRUE(std::isnan(spans[0].mean()));
    EXPECT_TRUE(std::isnan(spans[1].mean()));
    EXPECT_EQ(spans[2].mean(), 2);
}

TEST(series, what_is_sampled_at_one_moment_is_added_up) {
    const Spans spans =
        Recording(frame(), kCounters).at(0, 10, 1).at(0, 20, 2).at(1, 11, 1).at(1, 22, 2).at(2, 14, 1).end();
    EXPECT_EQ(spans[0].mean(), 3);
    EXPECT_EQ(spans[1].mean(), 3);
    EXPECT_EQ(spans[1].highest, 3);
}

TEST(series, what_begins_between_two_moments_counts_from_its_beginning) {
    const Spans spans =
        Recording(frame(), kCounters).at(1, 5, 1, -100).at(2, 5, 1, -100).at(2, 0.25, 2, 1.75).end();
    EXPECT_TRUE(std::isnan(spans[0].mean())) << "nobody knows what the first had done in this second";
    EXPECT_EQ(spans[1].mean(), 0.25) << "over the second, not over a quarter of it";
    const Spans late = Recording(frame(), kCounters).at(1, 5, 1, -100).at(9, 4, 2, 2).end();
    EXPECT_TRUE(std::isnan(late[8].mean())) << "it began long before it was first seen";
}

double whole(const Spans& spans) {
    double sum = 0;
    for (size_t bucket = spans.first(); bucket < spans.end(); ++bucket)
        if (!std::isnan(spans[bucket].increase)) sum += spans[bucket].increase;
    return sum;
}

TEST(series, an_increase_stands_in_the_bucket_of_the_sample_that_tells_it) {
    const Spans spans = Recording(frame(), kCounters).at(0.4, 4).at(1.4, 5).at(2.4, 5).increases();
    EXPECT_TRUE(std::isnan(spans[0].increase)) << "nobody knows what was before";
    EXPECT_EQ(spans[1].increase, 1) << "and not a part of it in each bucket that its time touches";
    EXPECT_EQ(spans[2].increase, 0);
    EXPECT_TRUE(std::isnan(spans[3].increase));
    const Spans at_the_end = Recording(frame(), kCounters).at(0, 4).at(1, 5).increases();
    EXPECT_EQ(at_the_end[0].increase, 1) << "a bucket ends with its last moment";
}

TEST(series, a_gap_loses_nothing_of_an_increase) {
    const Spans spans = Recording(frame(), kCounters).at(1, 10).at(2, kNone).at(8, 17).at(9, 18).increases();
    EXPECT_EQ(spans[7].increase, 7);
    EXPECT_EQ(whole(spans), 8);
    EXPECT_EQ(total(Recording(frame(), kCounters).at(1, 10).at(8, 17).end()), 0) << "no rate is told of it";
}

TEST(series, of_an_increase_the_step_of_a_reset_is_missing) {
    const Spans spans = Recording(frame(), kCounters).at(0, 100).at(1, 101).at(2, 1).at(3, 5).increases();
    EXPECT_EQ(spans[0].increase, 1);
    EXPECT_TRUE(std::isnan(spans[1].increase));
    EXPECT_EQ(spans[2].increase, 4);
    EXPECT_EQ(whole(Recording(frame(), kUnsteady).at(0, 100).at(1, 101).at(2, 100.5).increases()), 1);
}

TEST(series, what_began_since_the_frame_did_increased_from_its_beginning) {
    const Spans late = Recording(frame(), kCounters).at(1, 5, 1, -100).at(9, 4, 2, 2).increases();
    EXPECT_EQ(whole(late), 4) << "also where it is first seen long after, but not what was there before";
}

TEST(series, states_have_no_increase) {
    EXPECT_EQ(whole(Recording(frame(), kStates).at(1, 5).at(2, 9).increases()), 0);
}

TEST(series, an_increase_before_or_after_the_frame_is_not_told) {
    const SpanFrame frame{
        .start_microseconds = 5'000'000, .bucket_seconds = 1, .buckets = 2, .interval_seconds = 1};
    EXPECT_EQ(whole(Recording(frame, kCounters).at(3, 0).at(5, 1).at(6, 3).at(7, 7).at(8, 15).increases()),
              6);
}

// Whatever the buckets are and whatever is not sampled, as long as the last reading is there.
TEST(series, increases_are_what_counters_did_without_what_resets_hide) {
    std::mt19937_64 random(5);
    auto uniform = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
    for (int round = 0; round < 300; ++round) {
        const SpanFrame frame{.start_microseconds = 0,
                              .bucket_seconds = uniform(0.3, 20),
                              .buckets = 2000,
                              .interval_seconds = 1};
        NodeSpans node(frame, kCounters, kRateAndIncrease);
        NodeSpans at_once(one_span(0), kCounters, kRateAndIncrease);
        std::vector<int64_t> counters(1 + random() % 5, 10);
        int64_t done = 0;
        std::vector<int64_t> unseen(counters.size());
        int64_t time = 0;
        for (int sample = 0; sample < 100; ++sample) {
            for (size_t key = 0; key < counters.size(); ++key) {
                const bool reset = sample > 0 && random() % 20 == 0;
                const auto more = static_cast<int64_t>(random() % 50);
                counters[key] = reset ? -sample : counters[key] + (sample > 0 ? more : 0);
                unseen[key] = reset ? 0 : unseen[key] + (sample > 0 ? more : 0);
                // A reset that is not seen would be taken for a smaller step.
                if (sample > 0 && sample < 99 && !reset && random() % 3 == 0) continue;
                done += reset ? 0 : std::exchange(unseen[key], 0);
                const auto reading = static_cast<double>(counters[key]);
                const SpanSample row{.time_microseconds = time, .key = key, .values = std::span(&reading, 1)};
                node.add(row);
                at_once.add(row);
            }
            time += static_cast<int64_t>(uniform(0.001, 5) * 1e6);
        }
        EXPECT_EQ(whole(node.finish()[1]), static_cast<double>(done)) << round;
        EXPECT_EQ(whole(at_once.finish()[1]), static_cast<double>(done)) << round;
    }
}

// A frame of any kind and samples at any time: what the buckets hold is what the counters did.
TEST(series, buckets_hold_what_the_counters_did) {
    std::mt19937_64 random(7);
    auto uniform = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
    for (int round = 0; round < 300; ++round) {
        const SpanFrame frame{.start_microseconds = 1'000'000,
                              .bucket_seconds = uniform(0.3, 20),
                              .buckets = 400,
                              .interval_seconds = 1};
        NodeSpans node(frame, kCounters, kFirst);
        std::vector<double> counters(1 + random() % 5);
        for (double& counter : counters) counter = uniform(0, 1000);
        double done = 0;
        double seconds = 0;
        int64_t time = 1'000'000;
        for (int sample = 0; sample < 100; ++sample) {
            for (size_t key = 0; key < counters.size(); ++key)
                node.add({.time_microseconds = time,
                          .key = key * 977 + 3,
                          .values = std::span(&counters[key], 1)});
            if (sample == 99) break;
            const auto step = static_cast<int64_t>(uniform(0.001, 2.4) * 1e6);
            const bool reset = random() % 20 == 0;
            time += step;
            if (!reset) seconds += static_cast<double>(step) / 1e6;
            for (double& counter : counters) {
                const double more = uniform(0, 50);
                if (reset)
                    counter = -1 - uniform(0, 1) - (counter < 0 ? -counter : 0);
                else
                    counter += more, done += more;
            }
        }
        const Spans spans = node.finish()[0];
        if (static_cast<double>(time - 1'000'000) / 1e6 > frame.bucket_seconds * 400) continue;
        EXPECT_NEAR(total(spans), done, 1e-6 * done) << round;
        double known = 0;
        for (size_t bucket = 0; bucket < 400; ++bucket) known += spans[bucket].seconds;
        EXPECT_NEAR(known, seconds, 1e-6 * seconds);
        for (size_t bucket = 0; bucket < 400; ++bucket)
            EXPECT_LE(spans[bucket].seconds, frame.bucket_seconds * (1 + 1e-9)) << "no time is counted twice";
    }
}

// Processes that come and go, all of them sampled at least once: together they did what they did.
TEST(series, short_lives_add_up) {
    std::mt19937_64 random(11);
    auto uniform = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
    const SpanFrame frame{.start_microseconds = 0, .bucket_seconds = 3, .buckets = 40, .interval_seconds = 1};
    NodeSpans node(frame, kCounters, kFirst);
    double done = 0;
    uint64_t next = 1;
    for (int second = 1; second <= 100; ++second)
        for (size_t i = 0; i < 1 + random() % 4; ++i) {
            const double born =
                second - uniform(0.01, 0.99);  // since the moment before, and gone by the next
            const double used = uniform(0, second - born);
            done += used;
            node.add({.time_microseconds = int64_t{second} * 1'000'000,
                      .key = next++,
                      .born_microseconds = born * 1e6,
                      .values = std::span(&used, 1)});
        }
    EXPECT_NEAR(total(node.finish()[0]), done, 1e-6 * done);
}

}  // namespace
}  // namespace belay::record
