#include "stage/scan/cost.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A million files of 17 KB on a file system that takes a millisecond to open one.
CostInput many_small_files() {
    return {.files = 1'000'000,
            .bytes = 17'000'000'000,
            .open_seconds = 1e-3,
            .read_bytes_per_second = 1e9,
            .epochs = 10,
            .workers = 8};
}

TEST(stage_cost, follows_the_formulas) {
    CostInput input = many_small_files();
    input.write_bytes_per_second = 5e8;
    input.shard_bytes = 1'000'000'000;
    const Cost cost = predict(input);
    EXPECT_DOUBLE_EQ(cost.loose_epoch_seconds, 1e6 * 1e-3 / 8 + 17);
    EXPECT_DOUBLE_EQ(cost.packed_epoch_seconds, 17 * 1e-3 / 8 + 17);
    EXPECT_DOUBLE_EQ(cost.pack_seconds, 142 + 34);
    EXPECT_NEAR(*cost.break_even_epochs, 176 / 124.998, 1e-4);
    EXPECT_FALSE(cost.local_epoch_seconds);
}

TEST(stage_cost, many_small_files_behind_slow_metadata_are_packed) {
    const Cost cost = predict(many_small_files());
    EXPECT_EQ(cost.verdict, Verdict::kPack);
    EXPECT_THAT(cost.reasons, ElementsAre(HasSubstr("packing saves")));
}

TEST(stage_cost, too_few_epochs_are_not_worth_it) {
    CostInput input = many_small_files();
    input.epochs = 1;
    const Cost cost = predict(input);
    EXPECT_EQ(cost.verdict, Verdict::kLeave);
    EXPECT_THAT(cost.reasons, ElementsAre(HasSubstr("it would pay from 1.3 epochs on")));
}

TEST(stage_cost, large_files_are_left) {
    const Cost cost =
        predict({.files = 100, .bytes = 100'000'000'000, .open_seconds = 1e-3, .read_bytes_per_second = 1e9});
    EXPECT_EQ(cost.verdict, Verdict::kLeave);
    EXPECT_FALSE(cost.break_even_epochs) << "as many shards as files";
}

TEST(stage_cost, a_quota_that_fills_up_is_a_reason_of_its_own) {
    CostInput input = many_small_files();
    input.open_seconds = 1e-7;
    input.inode_quota = 5'000'000;
    EXPECT_EQ(predict(input).verdict, Verdict::kPack);
    EXPECT_THAT(predict(input).reasons.front(), HasSubstr("20 % of the 5000000"));
    input.inode_quota = 50'000'000;
    EXPECT_EQ(predict(input).verdict, Verdict::kLeave);
}

TEST(stage_cost, data_that_fit_are_copied_where_that_is_quicker_still) {
    CostInput input = many_small_files();
    input.local_bytes_per_second = 1e10;
    input.local_free_bytes = 20'000'000'000;
    EXPECT_EQ(predict(input).verdict, Verdict::kCopy);
    input.local_free_bytes = 18'000'000'000;  // a tenth stays free
    EXPECT_EQ(predict(input).verdict, Verdict::kPack);
    EXPECT_THAT(predict(input).reasons.back(), HasSubstr("do not fit"));
}

TEST(stage_cost, nothing_is_left_alone) {
    const Cost cost = predict({.read_bytes_per_second = INFINITY});
    EXPECT_EQ(cost.verdict, Verdict::kLeave);
    EXPECT_EQ(cost.loose_epoch_seconds, 0);
}

}  // namespace
}  // namespace belay::stage
