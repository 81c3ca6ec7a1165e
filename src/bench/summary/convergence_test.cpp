#include "bench/summary/convergence.h"

#include "bench/summary/reference_points.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What rcp_checker.py of mlcommons/logging 4.1.59 computes with SciPy 1.10.1: batch, mean, deviation, smallest mean.
struct OfficialPoint {
    int round;
    std::string_view benchmark;
    double batch, mean, deviation, smallest;
};
constexpr OfficialPoint kOfficial[] = {
    {1, "cosmoflow", 64, 18.277778, 0.714143, 17.758577},
    {1, "deepcam", 128, 9.000000, 0.000000, 9.000000},
    {3, "cosmoflow", 32, 7.870968, 0.820983, 7.321714},
    {3, "cosmoflow", 128, 17.888889, 0.572276, 17.472859},
    {3, "cosmoflow", 512, 22.833333, 0.871780, 22.199534},
    {3, "cosmoflow", 1024, 40.055556, 2.190890, 38.462808},
    {3, "deepcam", 128, 6.944444, 0.589491, 6.308794},
    {3, "deepcam", 256, 9.000000, 0.000000, 9.000000},
    {3, "deepcam", 512, 11.052632, 1.130265, 9.910577},
    {3, "deepcam", 1024, 13.000000, 0.447214, 12.445026},
    {3, "deepcam", 2048, 22.625000, 1.220656, 21.110173},
    {3, "oc20", 256, 19.750000, 1.249000, 18.199987},
    {3, "oc20", 1024, 24.375000, 1.077033, 23.038412},
    {3, "oc20", 2048, 32.875000, 1.004988, 31.627784},
    {3, "openfold", 128, 88746.666667, 8760.288580, 82378.067490},
    {3, "openfold", 256, 133120.000000, 13738.401654, 123132.386801},
};

std::vector<ConvergencePoint> pruned_points(int round, std::string_view benchmark) {
    return pruned(convergence_points(round, benchmark), required_runs(round, benchmark).value());
}

std::vector<double> batches(std::span<const ConvergencePoint> points) {
    std::vector<double> all;
    for (const ConvergencePoint& point : points) all.push_back(point.batch);
    return all;
}

ConvergenceVerdict judged(std::string_view benchmark, double batch, std::vector<std::optional<double>> epochs,
                          ConvergenceOptions options = {}) {
    return judge_convergence(pruned_points(3, benchmark), required_runs(3, benchmark).value(), batch, epochs,
                             options);
}

TEST(bench, convergence_points_are_those_of_the_official_checker) {
    for (const OfficialPoint& official : kOfficial) {
        SCOPED_TRACE(fmt::format("{} {} {}", official.round, official.benchmark, official.batch));
        const auto points = convergence_points(official.round, official.benchmark);
        const auto point = std::ranges::find(points, official.batch, &ConvergencePoint::batch);
        ASSERT_NE(point, points.end());
        EXPECT_NEAR(point->mean, official.mean, 1e-6);
        EXPECT_NEAR(point->deviation, official.deviation, 1e-6);
        EXPECT_NEAR(point->smallest, official.smallest, 1e-4);
        EXPECT_NEAR(as_bisected(point->mean, point->smallest), official.smallest, 1.01e-6)
            << "to its last digit";
    }
}

TEST(bench, convergence_keeps_these_points_after_pruning) {
    EXPECT_THAT(batches(pruned_points(1, "cosmoflow")), ElementsAre(128, 512, 1024));
    EXPECT_THAT(batches(pruned_points(2, "cosmoflow")), ElementsAre(32, 512, 1024));
    EXPECT_THAT(batches(pruned_points(3, "cosmoflow")), ElementsAre(32, 512, 1024));
    EXPECT_THAT(batches(pruned_points(1, "deepcam")), ElementsAre(128, 256, 1024, 2048));
    EXPECT_THAT(batches(pruned_points(3, "deepcam")), ElementsAre(128, 1024, 2048));
    EXPECT_THAT(batches(pruned_points(3, "oc20")), ElementsAre(256, 1024, 2048));
    EXPECT_THAT(batches(pruned_points(3, "openfold")), ElementsAre(128, 256));
    EXPECT_TRUE(convergence_points(1, "openfold").empty());
}

TEST(bench, convergence_pruning_does_not_step_back) {
    // 20 lies below the line from 10 to 30 and stays; 30 goes. Then 20 is above the line from 10 to 40, but is not
    // looked at again.
    std::vector<ConvergencePoint> points;
    for (auto [batch, mean] : {std::pair{10, 1.0}, {20, 5.0}, {30, 20.0}, {40, 6.0}})
        points.push_back({.batch = static_cast<double>(batch), .mean = mean});
    EXPECT_THAT(batches(pruned(points, 5)), ElementsAre(10, 20, 40));
    EXPECT_TRUE(pruned({}, 5).empty());
}

// Student's t at 0.95, from SciPy 1.10.1 (scipy.stats.t.ppf).
TEST(bench, convergence_test_has_students_quantiles) {
    for (auto [freedom, t] : {std::pair{1, 6.313751514800932},
                              {9, 1.8331129326536335},
                              {24, 1.7108820799094275},
                              {41, 1.6828780004112913}}) {
        const auto submission = static_cast<size_t>(freedom + 1);
        const double error = std::sqrt(1.0 / static_cast<double>(submission) + 1.0);
        EXPECT_NEAR(smallest_acceptable_mean(100, 1, submission, 1), 100 - t * error, 1e-7) << freedom;
    }
    EXPECT_EQ(smallest_acceptable_mean(9, 0, 3, 8), 9) << "no deviation";
    EXPECT_EQ(smallest_acceptable_mean(9, 1, 0, 8), 9) << "no runs";
    EXPECT_EQ(smallest_acceptable_mean(1, 1000, 3, 8), 0);
}

TEST(bench, convergence_between_points_is_interpolated) {
    const auto points = pruned_points(3, "cosmoflow");
    const ConvergencePoint point = interpolated(points[0], points[1], 272, 10);
    EXPECT_NEAR(point.mean, 15.352151, 1e-6);
    EXPECT_NEAR(point.deviation, 0.846381, 1e-6);
    EXPECT_NEAR(point.smallest, 14.748270, 1e-4) << "2N runs of the reference";
    const auto deepcam = pruned_points(3, "deepcam");
    EXPECT_NEAR(interpolated(deepcam[0], deepcam[1], 576, 5).smallest, 9.359420, 1e-4);
    const auto openfold = pruned_points(3, "openfold");
    EXPECT_NEAR(interpolated(openfold[0], openfold[1], 192, 10).smallest, 102906.799982, 1e-4);
}

TEST(bench, convergence_of_a_submission_is_looked_up_by_batch_size) {
    const std::vector<std::optional<double>> slow(5, 40.0);
    EXPECT_EQ(judged("oc20", 1024, slow).which, ConvergenceCase::kFound);
    EXPECT_EQ(judged("oc20", 512, slow).which, ConvergenceCase::kInterpolated);
    EXPECT_EQ(judged("oc20", 128, slow).which, ConvergenceCase::kBelowSmallest);
    EXPECT_TRUE(judged("oc20", 128, slow).passed) << "slower at a smaller batch size";
    const ConvergenceVerdict large = judged("oc20", 4096, slow);
    EXPECT_EQ(large.which, ConvergenceCase::kAboveLargest);
    EXPECT_FALSE(large.passed);
    EXPECT_THAT(large.message, HasSubstr("missing RCP"));
    const std::vector<std::optional<double>> fast(5, 10.0);
    EXPECT_THAT(judged("oc20", 128, fast).message, HasSubstr("missing RCP"));
    EXPECT_FALSE(judge_convergence({}, 5, 64, slow, {}).passed);
}

TEST(bench, convergence_faster_than_the_reference_scales_the_score) {
    const ConvergenceVerdict slower = judged("oc20", 256, {20.0, 20.0, 20.0, 20.0, 20.0});
    EXPECT_TRUE(slower.passed);
    EXPECT_EQ(slower.scaling, 1);
    const ConvergenceVerdict faster = judged("oc20", 256, {19.0, 19.0, 19.0, 1.0, 99.0});
    EXPECT_TRUE(faster.passed);
    EXPECT_NEAR(faster.mean.value(), 19, 1e-12);
    EXPECT_NEAR(faster.scaling, 19.75 / 19, 1e-12);
    const ConvergenceVerdict too_fast = judged("oc20", 256, {18.0, 18.0, 18.0, 18.0, 18.0});
    EXPECT_FALSE(too_fast.passed) << "less than 18.2000";
    EXPECT_EQ(too_fast.scaling, 1);
}

TEST(bench, convergence_accepts_one_run_that_did_not_converge) {
    EXPECT_TRUE(judged("oc20", 256, {20.0, 20.0, std::nullopt, 20.0, 20.0}).passed);
    const ConvergenceVerdict two = judged("oc20", 256, {20.0, NAN, std::nullopt, 20.0, 20.0});
    EXPECT_FALSE(two.passed);
    EXPECT_EQ(two.which, ConvergenceCase::kNotConverged);
    EXPECT_EQ(judged("oc20", 256, {20.0, 20.0}).which, ConvergenceCase::kTooFewRuns);
}

TEST(bench, convergence_counts_epochs_to_three_decimals) {
    const ConvergenceVerdict verdict = judged("oc20", 256, {20.0004, 20.0004, 20.0004, 20.0004, 20.0004});
    EXPECT_EQ(verdict.mean, 20.0);
}

TEST(bench, convergence_failure_can_be_let_pass) {
    const std::vector<std::optional<double>> fast(5, 10.0);
    const ConvergenceVerdict verdict = judged("oc20", 256, fast, {.bypass = true});
    EXPECT_TRUE(verdict.passed);
    EXPECT_TRUE(verdict.bypassed);
    EXPECT_EQ(verdict.scaling, 1);
    EXPECT_TRUE(judged("oc20", 4096, fast, {.bypass = true}).passed) << "a missing point too";
    const std::vector<std::optional<double>> none(5);
    EXPECT_FALSE(judged("oc20", 256, none, {.bypass = true}).passed) << "insufficient convergence is not";
}

TEST(bench, reference_points_belong_to_rounds) {
    EXPECT_EQ(round_of_rules("3.0.0"), 3);
    EXPECT_EQ(round_of_rules("1.0"), 1);
    EXPECT_FALSE(round_of_rules("0.7.0"));
    EXPECT_FALSE(round_of_rules("6.1.0"));
    EXPECT_EQ(required_runs(3, "openfold"), 10u);
    EXPECT_FALSE(required_runs(2, "openfold"));
    for (const int round : {1, 2, 3})
        for (const std::string_view benchmark : {"cosmoflow", "deepcam", "oc20", "openfold"})
            for (const ReferenceRuns& runs : reference_runs(round, benchmark))
                EXPECT_GE(runs.epochs.size(), 2 * required_runs(round, benchmark).value())
                    << benchmark << runs.batch;
}

}  // namespace
}  // namespace belay::bench
