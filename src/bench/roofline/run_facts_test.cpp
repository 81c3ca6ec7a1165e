#include "bench/roofline/run_facts.h"

#include <limits>

#include <gtest/gtest.h>

namespace belay::bench::roofline {
namespace {

LogFacts log_facts() {
    LogFacts facts;
    facts.benchmark = "cosmoflow";
    facts.global_batch_size = 8;
    facts.nodes = 2;
    facts.accelerators_per_node = 0;
    facts.ranks = 4;
    facts.model_parameters = 147740;
    facts.samples_per_second = 60;
    facts.step_seconds = 0.14;
    facts.data_wait_seconds_per_step = 0.01;
    facts.exposed_communication_seconds_per_step = 0.012;
    facts.flops_per_sample = 1e9;
    return facts;
}

TEST(roofline_facts, of_a_log_of_our_own_trainer) {
    const RunFacts facts = run_facts_of(log_facts(), "run.log");
    EXPECT_EQ(facts.source, "run.log");
    EXPECT_DOUBLE_EQ(*facts.samples_per_second_of_rank(), 15);
    EXPECT_DOUBLE_EQ(*facts.parameter_bytes.value, 4.0 * 147740);
    EXPECT_NEAR(*facts.data_wait_share(), 0.01 / 0.14, 1e-12);
    EXPECT_NEAR(*facts.communication_share(), 0.012 / 0.14, 1e-12);
    const Workload workload = facts.workload();
    EXPECT_EQ(workload.name, "cosmoflow");
    EXPECT_DOUBLE_EQ(*workload.flops.value, 1e9);
    EXPECT_EQ(workload.flops.sense, Sense::kValue);
    EXPECT_FALSE(workload.memory_bytes.value);
    EXPECT_DOUBLE_EQ(*workload.local_batch, 2);
}

TEST(roofline_facts, bytes_of_memory_that_a_model_counts_are_at_least_that) {
    LogFacts log = log_facts();
    log.memory_bytes_per_sample = 1e8;
    const RunFacts facts = run_facts_of(log, "run.log");
    EXPECT_DOUBLE_EQ(*facts.memory_bytes.value, 1e8);
    EXPECT_EQ(facts.memory_bytes.sense, Sense::kAtLeast);
}

TEST(roofline_facts, an_official_log_has_a_rank_for_each_accelerator) {
    LogFacts log;
    log.nodes = 4;
    log.accelerators_per_node = 8;
    log.samples_per_second = 20;
    const RunFacts facts = run_facts_of(log, "result_0.txt");
    EXPECT_DOUBLE_EQ(*facts.ranks, 32);
    EXPECT_DOUBLE_EQ(*facts.samples_per_second_of_rank(), 20.0 / 32);
    EXPECT_FALSE(facts.flops.value);
    EXPECT_FALSE(facts.data_wait_share());
    EXPECT_EQ(facts.workload().name, "result_0.txt");
}

TEST(roofline_facts, numbers_that_cannot_be_are_not_known) {
    for (const double wrong : {-3.0, std::numeric_limits<double>::quiet_NaN()}) {
        LogFacts log = log_facts();
        log.nodes = log.ranks = log.global_batch_size = log.model_parameters = log.flops_per_sample = wrong;
        const RunFacts facts = run_facts_of(log, "run.log");
        EXPECT_FALSE(facts.nodes) << wrong;
        EXPECT_FALSE(facts.ranks) << wrong;
        EXPECT_FALSE(facts.parameter_bytes.value) << wrong;
        EXPECT_FALSE(facts.workload().local_batch) << wrong;
        EXPECT_FALSE(facts.workload().flops.value) << wrong;
        EXPECT_EQ(facts.flops.source, "") << "what would give it is for the report to say";
    }
}

}  // namespace
}  // namespace belay::bench::roofline
