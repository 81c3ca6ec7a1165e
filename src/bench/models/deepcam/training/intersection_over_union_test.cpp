#include "bench/models/deepcam/training/intersection_over_union.h"

#include <gmock/gmock.h>

namespace belay::bench::deepcam {
namespace {

Evaluation judge(size_t samples, std::vector<float> predictions, std::vector<float> targets) {
    const IntersectionOverUnion metric;
    const Batch batch{.samples = samples, .inputs = {}, .targets = std::move(targets)};
    std::vector<double> sums(metric.sums());
    metric.add(batch, predictions, sums);
    return metric.conclude(sums);
}

TEST(bench_intersection_over_union, is_one_where_everything_is_right) {
    EXPECT_DOUBLE_EQ(judge(1, {0, 1, 2, 2}, {0, 1, 2, 2}).value, 1);
}

// Class 0: 2 of 3 cells, class 1: 1 of 3, class 2: 1 of 2.
TEST(bench_intersection_over_union, is_shared_cells_over_all_cells_of_a_class) {
    const Evaluation seen = judge(1, {0, 0, 1, 1, 1, 2}, {0, 0, 0, 1, 2, 2});
    EXPECT_DOUBLE_EQ(seen.value, (2.0 / 3 + 1.0 / 3 + 1.0 / 2) / 3);
    EXPECT_DOUBLE_EQ(seen.details["by_class"][1].get<double>(), 1.0 / 3);
}

TEST(bench_intersection_over_union, of_a_class_absent_from_both_is_one) {
    EXPECT_DOUBLE_EQ(judge(1, {0, 0, 1}, {0, 0, 1}).value, 1);
    EXPECT_DOUBLE_EQ(judge(1, {0, 0, 2}, {0, 0, 1}).value, 1.0 / 3) << "absent from one only, it is 0";
}

// The mean of the samples' values, not the value of all cells together: 1 and (1/2 + 0 + 1) / 3.
TEST(bench_intersection_over_union, is_averaged_over_samples) {
    EXPECT_DOUBLE_EQ(judge(2, {1, 1, 0, 0}, {1, 1, 0, 1}).value, (1 + 0.5) / 2);
}

TEST(bench_intersection_over_union, reaches_its_target_from_below) {
    const IntersectionOverUnion metric;
    EXPECT_EQ(metric.key(), "eval_accuracy");
    EXPECT_TRUE(metric.reached(0.82, 0.82));
    EXPECT_FALSE(metric.reached(0.8199, 0.82));
}

}  // namespace
}  // namespace belay::bench::deepcam
