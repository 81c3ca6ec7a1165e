#include "bench/schedule/profile.h"
#include "bench/schedule/share.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

TEST(bench, schedule_an_epoch_uses_every_sample_once) {
    std::set<uint32_t> seen;
    for (int place = 0; place < 8; ++place) {
        auto samples = samples_of_place(1, 3, place, 8, 64);
        EXPECT_EQ(samples.size(), 8u);
        for (uint32_t sample : samples) {
            EXPECT_EQ(sample % 8, static_cast<uint32_t>(place));
            seen.insert(sample);
        }
    }
    EXPECT_EQ(seen.size(), 64u);
    EXPECT_EQ(*seen.rbegin(), 63u);
}

TEST(bench, schedule_order_depends_on_seed_epoch_and_place) {
    auto order = samples_of_place(1, 1, 0, 4, 400);
    EXPECT_EQ(order, samples_of_place(1, 1, 0, 4, 400));
    EXPECT_NE(order, samples_of_place(2, 1, 0, 4, 400));
    EXPECT_NE(order, samples_of_place(1, 2, 0, 4, 400));
    auto neighbour = samples_of_place(1, 1, 1, 4, 400);
    for (uint32_t& sample : neighbour) --sample;
    EXPECT_NE(order, neighbour) << "places of a batch are not shuffled alike";
    EXPECT_FALSE(std::ranges::is_sorted(order));
    EXPECT_EQ(samples_of_place(1, 1, 0, 8, 63).size(), 7u) << "what does not fill a batch is left out";
}

TEST(bench, schedule_shares_are_all_samples_once) {
    const Profile profile{.train_samples = 26, .eval_samples = 7, .batch = 6};
    std::multiset<uint32_t> train, eval;
    for (int rank = 0; rank < 3; ++rank) {
        const Share share = share_of(profile, rank, 3);
        EXPECT_EQ(share.first_place, 2 * rank);
        EXPECT_EQ(share.places, 2);
        train.insert(share.train.begin(), share.train.end());
        eval.insert(share.eval.begin(), share.eval.end());
        for (int place = share.first_place; place < share.first_place + share.places; ++place)
            for (uint32_t sample : samples_of_place(1, 1, place, profile.batch, profile.train_samples))
                EXPECT_THAT(share.train, testing::Contains(sample));
    }
    EXPECT_EQ(train.size(), 24u) << "26 samples are 4 batches of 6";
    EXPECT_EQ(*train.rbegin(), 23u);
    EXPECT_EQ(std::set(train.begin(), train.end()).size(), 24u);
    EXPECT_EQ(eval.size(), 7u);
    EXPECT_EQ(std::set(eval.begin(), eval.end()).size(), 7u);
}

}  // namespace
}  // namespace belay::bench
