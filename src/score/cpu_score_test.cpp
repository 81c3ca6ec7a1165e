#include "score/cpu_score.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::score {

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

NodeCpus node(const std::string& name, double busy_share, double peak_flops = 0) {
    return {.node = name,
            .cpus = 8,
            .held_seconds = 100,
            .sampled_seconds = 100,
            .busy_seconds = busy_share * 800,
            .peak_flops = peak_flops};
}

}  // namespace

TEST(score, cpus_without_flops_have_only_bounds) {
    JobScore job = score_cpus({.nodes = {node("n1", 0.75), node("n2", 0.25)}, .flop = std::nan("")});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_NEAR(job.score.low, 0, 1e-9);
    EXPECT_NEAR(job.score.high, 50, 1e-9);
    EXPECT_NEAR(job.score.shares.idle, 0.5, 1e-9);
    EXPECT_NEAR(job.busy_engine, 0.5, 1e-9);
    EXPECT_THAT(job.notes, Contains(HasSubstr("only bounds")));
    EXPECT_FALSE(job.calibrated);
}

TEST(score, cpus_are_scored_by_the_flops_that_the_program_tells) {
    // 1e9 FLOP/s in double precision: 2e9 in single; 100 s on two nodes can do 4e11.
    JobScore job = score_cpus({.nodes = {node("n1", 0.9, 1e9), node("n2", 0.9, 1e9)}, .flop = 1e11});
    EXPECT_NEAR(job.score.point, 25, 1e-9);
    EXPECT_NEAR(job.score.low, 25, 1e-9);
    EXPECT_NEAR(job.score.high, 90, 1e-9);
    EXPECT_NEAR(job.nodes[0].score.point, 25, 1e-9);
    EXPECT_NEAR(job.score.shares.saturated + job.score.shares.unsaturated + job.score.shares.idle, 1, 1e-9);
    EXPECT_TRUE(job.calibrated);
}

TEST(score, cpus_never_do_more_than_they_are_busy) {
    JobScore job = score_cpus({.nodes = {node("n1", 0.5, 1e9)}, .flop = 1e15});
    EXPECT_NEAR(job.score.point, 50, 1e-9);
    EXPECT_NEAR(job.score.high, 50, 1e-9);
}

TEST(score, flops_without_a_measured_ceiling_give_only_bounds) {
    JobScore job = score_cpus({.nodes = {node("n1", 0.5, 1e9), node("n2", 0.5)}, .flop = 1e10});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_THAT(job.notes, Contains(HasSubstr("cpu.gemm")));
}

TEST(score, unsampled_cpu_time_widens_the_bounds) {
    NodeCpus half = node("n1", 0.4, 1e9);
    half.sampled_seconds = 50;
    JobScore job = score_cpus({.nodes = {half}, .flop = 0.5e11});
    EXPECT_NEAR(job.score.coverage, 0.5, 1e-9);
    EXPECT_NEAR(job.score.low, 25, 1e-9);
    EXPECT_NEAR(job.score.point, 50, 1e-9);
    EXPECT_NEAR(job.score.high, 90, 1e-9);
}

TEST(score, no_cpus_have_no_score) {
    JobScore job = score_cpus({.nodes = {}, .flop = std::nan("")});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_EQ(job.score.coverage, 0);
}

}  // namespace belay::score
