#include "bench/roofline/run_facts.h"

#include "progress/mllog.h"

#include <gtest/gtest.h>

namespace belay::bench::roofline {
namespace {

using progress::Json;

class Log {
  public:
    Log& event(std::string_view key, const Json& value, int64_t time_ms = 0,
               const Json& metadata = Json::object()) {
        text_ += progress::format_mllog_line(time_ms, progress::kPointInTime, key, value, metadata) + "\n";
        return *this;
    }
    RunFacts facts() const { return facts_of_log(text_, "run.log").value(); }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

Log tracked() {
    Log log;
    log.event("submission_benchmark", "cosmoflow").event("global_batch_size", 8).event("number_of_nodes", 2);
    log.event("accelerators_per_node", 0).event("model_parameters_count", 147740);
    log.event("train_samples", 1024).event("eval_samples", 256);
    // 10 steps at 100 samples/s and 30 at 50: 320 samples in 0.8 + 4.8 s.
    log.event("tracked_stats", {{"samples_per_second", 100.0},
                                {"step", 10},
                                {"step_seconds", 0.08},
                                {"fp32_flops_per_second", 100e9},
                                {"data_wait_seconds", 0.04},
                                {"exposed_communication_seconds", 0.0}});
    log.event("tracked_stats", {{"samples_per_second", 50.0},
                                {"step", 40},
                                {"step_seconds", 0.16},
                                {"fp32_flops_per_second", 50e9},
                                {"data_wait_seconds", 0.0},
                                {"exposed_communication_seconds", 0.016}});
    log.event("weights_digest", "00ff", 0, {{"by_rank", {"00ff", "00ff", "00ff", "00ff"}}});
    return log;
}

TEST(roofline_facts, of_a_log_of_our_own_trainer) {
    const RunFacts facts = tracked().facts();
    EXPECT_EQ(facts.benchmark, "cosmoflow");
    EXPECT_DOUBLE_EQ(*facts.ranks, 4);
    EXPECT_DOUBLE_EQ(*facts.samples, 320);
    EXPECT_NEAR(*facts.seconds, 5.6, 1e-12);
    EXPECT_NEAR(*facts.samples_per_second, 320 / 5.6, 1e-9);
    EXPECT_NEAR(*facts.samples_per_second_of_rank(), 80 / 5.6, 1e-9);
    EXPECT_NEAR(*facts.flops.value, 1e9, 1e-3);
    EXPECT_DOUBLE_EQ(*facts.parameter_bytes.value, 4.0 * 147740);
    const Workload workload = facts.workload();
    EXPECT_EQ(workload.name, "cosmoflow");
    EXPECT_DOUBLE_EQ(*workload.local_batch, 2);
    // A mean of one step, over the mean step of 0.14 s.
    EXPECT_NEAR(*facts.data_wait_share(), 0.01 / 0.14, 1e-12);
    EXPECT_NEAR(*facts.communication_share(), 0.012 / 0.14, 1e-12);
}

TEST(roofline_facts, what_a_model_says_of_a_sample_goes_before_what_rates_say) {
    Log log = tracked();
    log.event("flops_per_sample", 3e9)
        .event("memory_bytes_per_sample", 5e6)
        .event("stored_bytes_per_sample", 2048);
    const RunFacts facts = log.facts();
    EXPECT_DOUBLE_EQ(*facts.flops.value, 3e9);
    EXPECT_DOUBLE_EQ(*facts.memory_bytes.value, 5e6);
    EXPECT_EQ(facts.memory_bytes.sense, Sense::kAtLeast);
    EXPECT_DOUBLE_EQ(*facts.io_bytes.value, 2048);
}

TEST(roofline_facts, bytes_of_memory_that_rates_say_are_at_least_that) {
    Log log;
    log.event("tracked_stats", {{"samples_per_second", 10.0}, {"memory_bytes_per_second", 1e9}});
    const RunFacts facts = log.facts();
    EXPECT_DOUBLE_EQ(*facts.memory_bytes.value, 1e8);
    EXPECT_EQ(facts.memory_bytes.sense, Sense::kAtLeast);
}

TEST(roofline_facts, an_official_log_counts_by_its_epochs_without_evaluations) {
    Log log;
    log.event("submission_benchmark", "deepcam").event("train_samples", 1000).event("number_of_nodes", 4);
    log.event("accelerators_per_node", 8).event("global_batch_size", 64);
    for (int epoch = 0; epoch < 2; ++epoch) {
        const int64_t at = 100'000 * epoch;
        log.event("epoch_start", nullptr, at).event("eval_start", nullptr, at + 50'000);
        log.event("eval_stop", nullptr, at + 60'000).event("epoch_stop", nullptr, at + 60'000);
    }
    const RunFacts facts = log.facts();
    EXPECT_DOUBLE_EQ(*facts.samples_per_second, 2000.0 / 100);
    EXPECT_DOUBLE_EQ(*facts.ranks, 32);
    EXPECT_DOUBLE_EQ(*facts.samples_per_second_of_rank(), 20.0 / 32);
    EXPECT_FALSE(facts.flops.value);
    EXPECT_FALSE(facts.data_wait_share());
}

TEST(roofline_facts, what_is_wrong_in_a_log_says_nothing) {
    Log log;
    log.event("global_batch_size", "many")
        .event("number_of_nodes", -3)
        .event("model_parameters_count", nullptr);
    log.event("tracked_stats", 5).event("tracked_stats", {{"samples_per_second", 0}});
    log.event("tracked_stats", {{"samples_per_second", "fast"}}).event("tracked_stats", Json::array());
    log.event("weights_digest", "x", 0, {{"by_rank", 4}});
    log.event("epoch_stop", nullptr, 5).event("epoch_start", nullptr, 10).event("epoch_stop", nullptr, 7);
    const RunFacts facts = log.facts();
    EXPECT_FALSE(facts.samples_per_second);
    EXPECT_FALSE(facts.global_batch);
    EXPECT_FALSE(facts.nodes);
    EXPECT_FALSE(facts.ranks);
    EXPECT_FALSE(facts.workload().local_batch);
    EXPECT_EQ(facts.workload().name, "run.log");
}

TEST(roofline_facts, steps_that_begin_again_count) {
    Log log;
    log.event("global_batch_size", 4);
    log.event("tracked_stats", {{"samples_per_second", 10.0}, {"step", 100}});
    log.event("tracked_stats", {{"samples_per_second", 20.0}, {"step", 100}});
    // Of the second run 100 steps as well: 800 samples in 40 + 20 s.
    EXPECT_DOUBLE_EQ(*log.facts().samples, 800);
    EXPECT_NEAR(*log.facts().samples_per_second, 800.0 / 60, 1e-9);
}

TEST(roofline_facts, a_file_without_mllog_is_refused_with_its_name) {
    for (const std::string_view text : {"", "hello\n", ":::MLLOG {\n"}) {
        const auto refused = facts_of_log(text, "notes.txt");
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
        EXPECT_EQ(refused.error().message(), "notes.txt: no line of it is MLLOG");
        EXPECT_NE(refused.error().hint_text(), "");
    }
}

}  // namespace
}  // namespace belay::bench::roofline
