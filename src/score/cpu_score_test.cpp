#include "score/cpu_score.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::score {

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr double kNo = std::numeric_limits<double>::quiet_NaN();
constexpr CpuWork kSilent{.double_flop = kNo, .single_flop = kNo, .bytes = kNo};
// Of 8 CPUs: 1e9 FLOP/s in double, 2e9 in single precision, 4e9 B/s.
constexpr CpuCeilings kCeilings{
    .double_flops = {1e9, 8}, .single_flops = {2e9, 8}, .bytes = {4e9, 8}, .is_blas = true};

// 100 s of 8 CPUs.
NodeCpus node(const std::string& name, double busy_share, CpuCeilings ceilings = {}) {
    return {.node = name,
            .cpus = 8,
            .held_seconds = 100,
            .sampled_seconds = 100,
            .busy_seconds = busy_share * 800,
            .node_cpus = 16,
            .others_seconds = kNo,
            .ceilings = ceilings};
}

CpuWork singles(double flop) {
    return {.double_flop = kNo, .single_flop = flop, .bytes = kNo};
}

}  // namespace

TEST(score, cpus_without_flops_have_only_bounds) {
    JobScore job = score_cpus({.nodes = {node("n1", 0.75), node("n2", 0.25)}, .work = kSilent});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_NEAR(job.score.low, 0, 1e-9);
    EXPECT_NEAR(job.score.high, 100, 1e-9) << "a few CPUs can use all of the memory's bandwidth";
    EXPECT_NEAR(job.score.shares.idle, 0.5, 1e-9);
    EXPECT_NEAR(job.busy_engine, 0.5, 1e-9);
    EXPECT_THAT(job.notes, Contains(HasSubstr("only bounds")));
    EXPECT_FALSE(job.calibrated);
}

TEST(score, cpus_are_scored_by_the_flops_that_the_program_reports) {
    const CpuUse use{.nodes = {node("n1", 0.9, kCeilings), node("n2", 0.9, kCeilings)},
                     .work = singles(1e11)};
    JobScore job = score_cpus(use);
    EXPECT_NEAR(job.score.point, 25, 1e-9);
    EXPECT_NEAR(job.score.low, 25, 1e-9);
    EXPECT_NEAR(job.score.high, 100, 1e-9);
    EXPECT_NEAR(job.nodes[0].score.point, 25, 1e-9);
    EXPECT_NEAR(job.score.shares.saturated + job.score.shares.unsaturated + job.score.shares.idle, 1, 1e-9);
    EXPECT_TRUE(job.calibrated);
    EXPECT_FALSE(job.bound) << "memory was not counted";
    CpuUse doubles = use;
    doubles.work = {.double_flop = 1e11, .single_flop = kNo, .bytes = kNo};
    EXPECT_NEAR(score_cpus(doubles).score.point, 50, 1e-9) << "each precision has a ceiling of its own";
}

TEST(score, cpus_that_reach_their_memory_are_saturated) {
    JobScore job = score_cpus({.nodes = {node("n1", 1, kCeilings)},
                               .work = {.double_flop = 5e9, .single_flop = kNo, .bytes = 3.6e11},
                               .reported_seconds = 98});
    EXPECT_NEAR(job.score.point, 90, 1e-9);
    EXPECT_NEAR(job.score.high, 97, 1e-9) << "one after the other, or while nothing was reported";
    EXPECT_EQ(job.bound, Bound::kMemory);
    EXPECT_NEAR(job.memory_use, 0.9, 1e-9);
}

TEST(score, a_few_cpus_saturate_the_memory) {
    JobScore job = score_cpus({.nodes = {node("n1", 0.25, kCeilings)},
                               .work = {.double_flop = 5e9, .single_flop = kNo, .bytes = 3.6e11},
                               .reported_seconds = 100});
    EXPECT_NEAR(job.score.point, 90, 1e-9);
    EXPECT_NEAR(job.score.high, 95, 1e-9);
    EXPECT_NEAR(job.score.shares.idle, 0.1, 1e-9) << "there is nothing left for the six other CPUs";
    EXPECT_NEAR(job.busy_engine, 0.25, 1e-9);
    EXPECT_THAT(job.meaning.at(2), HasSubstr("near a limit"));
    job = score_cpus({.nodes = {node("n1", 1.0 / 16, kCeilings)},
                      .work = {.double_flop = kNo, .single_flop = kNo, .bytes = 3.6e11}});
    EXPECT_TRUE(std::isnan(job.score.point)) << "half of a CPU's time is not enough for that";
    job = score_cpus({.nodes = {node("n1", 1.0 / 16)}, .work = kSilent});
    EXPECT_NEAR(job.score.high, 50, 1e-9) << "of the time in which any CPU can have run";
}

TEST(score, one_limit_that_is_not_reported_may_have_been_reached_at_other_times) {
    JobScore job = score_cpus({.nodes = {node("n1", 0.3, kCeilings)},
                               .work = {.double_flop = kNo, .single_flop = kNo, .bytes = 2e11},
                               .reported_seconds = 100});
    EXPECT_NEAR(job.score.point, 50, 1e-9);
    EXPECT_NEAR(job.score.high, 80, 1e-9) << "products for all of the time that CPUs were busy";
}

TEST(score, work_of_programs_that_never_ran_refutes_its_ceiling) {
    JobScore job = score_cpus({.nodes = {node("n1", 0, kCeilings)}, .work = singles(1e11)});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_THAT(job.notes, Contains(HasSubstr("none of its processes was seen to run")));
}

TEST(score, work_is_shared_out_by_how_long_nodes_were_busy) {
    JobScore job =
        score_cpus({.nodes = {node("n1", 1, kCeilings), node("n2", 0, kCeilings)}, .work = singles(2e11)});
    EXPECT_NEAR(job.score.point, 50, 1e-9) << "all that two nodes can do in half of the time, by one";
    EXPECT_NEAR(job.score.high, 50, 1e-9);
    EXPECT_NEAR(job.nodes[0].score.point, 100, 1e-9);
    EXPECT_NEAR(job.nodes[1].score.point, 0, 1e-9);
}

TEST(score, a_node_without_one_ceiling_lends_none) {
    CpuCeilings only_memory;
    only_memory.bytes = kCeilings.bytes;
    JobScore job = score_cpus({.nodes = {node("n1", 1, kCeilings), node("n2", 1, only_memory)},
                               .work = {.double_flop = kNo, .single_flop = 1e11, .bytes = 1.6e11}});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_NEAR(job.score.low, 20, 1e-9)
        << "of the memory, which was measured on both; the products were not";
}

TEST(score, work_that_exceeds_a_ceiling_a_little_reaches_it) {
    JobScore job = score_cpus({.nodes = {node("n1", 0.5, kCeilings)}, .work = singles(1.05e11)});
    EXPECT_NEAR(job.score.point, 50, 1e-9);
    EXPECT_NEAR(job.score.high, 100, 1e-9) << "of the memory";
    EXPECT_NEAR(job.score.low, 50 / 1.1, 1e-9) << "the ceiling may be a little higher";
}

TEST(score, work_that_does_not_fit_under_its_ceiling_refutes_it) {
    JobScore job = score_cpus({.nodes = {node("n1", 0.5, kCeilings)}, .work = singles(1.5e11)});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_NEAR(job.score.low, 0, 1e-9);
    EXPECT_NEAR(job.score.high, 100, 1e-9);
    EXPECT_FALSE(job.calibrated);
    EXPECT_THAT(job.notes, Contains(HasSubstr("is 150 % of what vetting found possible")));
    EXPECT_THAT(job.meaning.at(2), HasSubstr("Check what the program counts"));
}

TEST(score, a_kernel_that_reaches_less_than_a_blas_is_no_ceiling) {
    CpuCeilings own = kCeilings;
    own.is_blas = false;
    JobScore job = score_cpus({.nodes = {node("n1", 0.9, own)}, .work = singles(1e11)});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_NEAR(job.score.low, 0, 1e-9);
    EXPECT_THAT(job.notes, Contains(HasSubstr("install OpenBLAS")));
}

TEST(score, flops_without_a_measured_ceiling_give_only_bounds) {
    JobScore job =
        score_cpus({.nodes = {node("n1", 0.5, kCeilings), node("n2", 0.5)}, .work = singles(1e10)});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_FALSE(job.calibrated);
    EXPECT_THAT(job.notes, Contains(HasSubstr("cpu.sgemm")));
}

TEST(score, a_ceiling_of_fewer_cpus_or_another_precision_is_the_highest_that_it_can_be) {
    CpuCeilings four = kCeilings;
    four.single_flops.cpus = 4;
    JobScore job = score_cpus({.nodes = {node("n1", 0.9, four)}, .work = singles(1e11)});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_NEAR(job.score.low, 25, 1e-9) << "of twice the ceiling";
    CpuCeilings doubles = kCeilings;
    doubles.single_flops = {};
    job = score_cpus({.nodes = {node("n1", 0.9, doubles)}, .work = singles(1e11)});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_NEAR(job.score.low, 50, 1e-9);
    EXPECT_NEAR(job.score.high, 100, 1e-9);
}

TEST(score, unsampled_cpu_time_widens_the_bounds) {
    NodeCpus half = node("n1", 0.4, kCeilings);
    half.sampled_seconds = 50;
    JobScore job = score_cpus({.nodes = {half}, .work = singles(0.5e11)});
    EXPECT_NEAR(job.score.coverage, 0.5, 1e-9);
    EXPECT_NEAR(job.score.low, 25, 1e-9);
    EXPECT_NEAR(job.score.point, 50, 1e-9);
    EXPECT_NEAR(job.score.high, 100, 1e-9);
}

TEST(score, three_lines_say_what_the_score_of_cpus_means) {
    NodeCpus shared = node("n1", 0.9, kCeilings);
    shared.others_seconds = 400;
    JobScore job = score_cpus({.nodes = {shared}, .work = singles(1.6e11)});
    ASSERT_THAT(job.meaning, SizeIs(3));
    EXPECT_EQ(job.meaning[0],
              "The job's programs ran for 90 % of the CPU time that it was given; others used 25 % of the "
              "CPU time of the nodes.");
    EXPECT_EQ(job.meaning[1], "They reached 80 % of what OpenBLAS computes on these CPUs.");
    EXPECT_THAT(job.meaning[2], HasSubstr("near a limit"));
    EXPECT_NEAR(job.others_busy, 0.25, 1e-9);
    NodeCpus full = node("n1", 0.3, kCeilings);
    full.others_seconds = 1200;  // of 1,600, and the job used 240
    EXPECT_THAT(score_cpus({.nodes = {full}, .work = kSilent}).meaning.at(2), HasSubstr("nodes were full"));
    NodeCpus apart = node("n1", 0.3, kCeilings);
    apart.node_cpus = 64;
    apart.others_seconds = 5500;  // on the 56 CPUs that the job was not given
    EXPECT_THAT(score_cpus({.nodes = {apart}, .work = kSilent}).meaning.at(2),
                HasSubstr("Most of the CPU time was not used"));
    job = score_cpus({.nodes = {node("n1", 0.2)}, .work = kSilent});
    ASSERT_THAT(job.meaning, SizeIs(3));
    EXPECT_THAT(job.meaning[1], HasSubstr("between 0 and 100 %"));
    EXPECT_THAT(job.meaning[2], HasSubstr("Most of the CPU time was not used"));
}

TEST(score, no_cpus_have_no_score) {
    JobScore job = score_cpus({.nodes = {}, .work = kSilent});
    EXPECT_TRUE(std::isnan(job.score.point));
    EXPECT_EQ(job.score.coverage, 0);
    EXPECT_THAT(job.meaning, SizeIs(0)) << "nothing is known of them";
}

}  // namespace belay::score
