#include "bench/parallel/buckets.h"

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

constexpr size_t kCounts[] = {10, 2, 30, 3};

TEST(bench, buckets_cover_all_values_from_the_last_layer_on) {
    const auto buckets = buckets_of(kCounts, 1, 16 * sizeof(float));
    ASSERT_EQ(buckets.size(), 3u);
    EXPECT_EQ(buckets[0].start, 42u);
    EXPECT_EQ(buckets[0].count, 4u) << "3 values and the loss";
    EXPECT_EQ(buckets[1].start, 12u);
    EXPECT_EQ(buckets[1].count, 30u) << "larger than a bucket: alone";
    EXPECT_EQ(buckets[2].start, 0u);
    EXPECT_EQ(buckets[2].count, 12u);
    EXPECT_EQ(buckets[2].first_tensor, 0u);
    EXPECT_EQ(buckets[2].tensors, 2u);
    EXPECT_EQ(buckets_of(kCounts, 1).size(), 1u);
    EXPECT_EQ(buckets_of(kCounts, 1)[0].count, 46u);
    EXPECT_EQ(buckets_of({}, 1)[0].count, 1u);
}

TEST(bench, buckets_begin_in_order_whatever_is_finished_first) {
    const auto buckets = buckets_of(kCounts, 1, 16 * sizeof(float));
    BucketOrder order(buckets);
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(order.mark(2), 0u) << "the bucket before is not full";
        EXPECT_EQ(order.mark(1), 0u);
        EXPECT_EQ(order.mark(3), 2u);
        EXPECT_EQ(order.mark(3), 2u) << "a second time it does not count";
        EXPECT_EQ(order.mark(0), 3u);
        order.reset();
    }
}

}  // namespace
}  // namespace belay::bench
