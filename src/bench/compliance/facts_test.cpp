#include "bench/compliance/check.h"
#include "bench/compliance/log_for_tests.h"

namespace belay::bench {
namespace {

TEST(bench_check, facts_are_those_of_the_run) {
    TestLog log = valid_log("oc20", "closed");
    const int64_t start = log.line("run_start").time_ms;
    int64_t at = start;
    for (TestLine& line : log.lines)
        if (line.time_ms > start) line.time_ms = at += 10'000;
    const LogFacts facts = verdict_on(log).facts;
    EXPECT_EQ(facts.benchmark, "oc20");
    EXPECT_EQ(facts.division, "closed");
    EXPECT_EQ(facts.organisation, "site");
    EXPECT_EQ(facts.platform, "system");
    EXPECT_EQ(facts.status, "onprem");
    EXPECT_DOUBLE_EQ(facts.minutes.value(), 17 * 10 / 60.0);  // 2 of staging, 2 x 7, run_stop
    EXPECT_DOUBLE_EQ(facts.run_start.value(), static_cast<double>(start) / 1000);
    EXPECT_DOUBLE_EQ(facts.staging_start.value() - facts.run_start.value(), 10);
    EXPECT_DOUBLE_EQ(facts.staging_seconds.value(), 10);
    EXPECT_DOUBLE_EQ(facts.evaluation_seconds.value(), 2 * 20);
    EXPECT_DOUBLE_EQ(facts.epochs_seconds.value(), 2 * 40);
    EXPECT_DOUBLE_EQ(facts.samples_per_second.value(), 2 * 1000 / (80.0 - 40));
    EXPECT_DOUBLE_EQ(facts.epochs.value(), 2);
    EXPECT_EQ(facts.evaluations, 2);
    EXPECT_DOUBLE_EQ(facts.global_batch_size.value(), 256);
    EXPECT_DOUBLE_EQ(facts.nodes.value() * facts.accelerators_per_node.value(), 32);
    EXPECT_TRUE(facts.success);
    EXPECT_EQ(facts.seeds, (decltype(facts.seeds){{"train.py:12", "7"}}));
    EXPECT_FALSE(facts.data_wait_seconds_per_step);
}

TEST(bench_check, the_run_is_from_the_last_start_before_the_first_stop) {
    TestLog log = valid_log("oc20", "closed");
    TestLine again = log.line("run_start");
    again.time_ms += 500;
    const auto place = std::ranges::find(log.lines, std::string("run_start"), &TestLine::key);
    log.lines.insert(place + 1, again);
    TestLine late = log.line("run_stop");
    const double minutes = static_cast<double>(late.time_ms - again.time_ms) / 60e3;
    late.time_ms += 60'000;
    log.lines.push_back(late);
    EXPECT_NEAR(verdict_on(log).facts.minutes.value(), minutes, 1e-6);
}

TEST(bench_check, the_end_of_the_run_ends_what_is_open) {
    TestLog log = valid_log("oc20", "closed");
    log.remove("epoch_stop");
    const LogFacts facts = verdict_on(log).facts;
    EXPECT_DOUBLE_EQ(facts.epochs_seconds.value(),
                     facts.run_stop.value() - static_cast<double>(log.line("epoch_start").time_ms) / 1000);
}

TEST(bench_check, waits_are_means_over_the_steps_of_tracked_stats) {
    TestLog log = valid_log("oc20", "closed");
    const auto stop = std::ranges::find(log.lines, std::string("run_stop"), &TestLine::key);
    TestLine line = *stop;
    line.key = "tracked_stats";
    line.value =
        R"({"step": 10, "data_wait_seconds": 0.1, "exposed_communication_seconds": 0.01, "samples_per_second": 100})";
    TestLine second = line;
    second.value =
        R"({"step": 40, "data_wait_seconds": 0.5, "exposed_communication_seconds": 0.05, "samples_per_second": 300})";
    log.lines.insert(stop, {line, second});
    const LogFacts facts = verdict_on(log).facts;
    EXPECT_DOUBLE_EQ(facts.data_wait_seconds_per_step.value(), (10 * 0.1 + 30 * 0.5) / 40);
    EXPECT_DOUBLE_EQ(facts.exposed_communication_seconds_per_step.value(), (10 * 0.01 + 30 * 0.05) / 40);
    EXPECT_DOUBLE_EQ(facts.samples_per_second.value(), 40 / (10 / 100.0 + 30 / 300.0));
}
}  // namespace
}  // namespace belay::bench
