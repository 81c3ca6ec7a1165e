#include "bench/compliance/facts.h"

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
    EXPECT_EQ(facts.seeds, (decltype(facts.seeds){{"train.py:12", {"7"}}}));
    EXPECT_FALSE(facts.data_wait_seconds_per_step);
}

TEST(bench_check, a_seed_is_kept_with_whether_it_is_a_text) {
    TestLog log = valid_log("oc20", "closed");
    for (const auto& [json, seed] : std::vector<std::pair<std::string, LoggedSeed>>{
             {"\"7.9\"", {"7.9", true}}, {"7.9", {"7.9"}}, {"true", {"true"}}, {"null", {"null"}}}) {
        log.set_value("seed", json);
        EXPECT_EQ(verdict_on(log).facts.seeds.at("train.py:12"), seed) << json;
    }
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

// As where the target is reached in the middle: of the second epoch, of 40 s with 20 s of evaluation, 35 s are there.
TEST(bench_check, an_epoch_that_the_run_cuts_off_is_not_one_of_its_throughput) {
    TestLog log;
    log.add("train_samples", "1000");
    log.add("run_start", "null");
    for (const char* key : {"epoch_start", "eval_start", "eval_stop", "epoch_stop", "epoch_start",
                            "eval_start", "run_stop", "eval_stop", "epoch_stop"})
        log.add(key, "null");
    const int64_t start = log.line("run_start").time_ms;
    const std::vector<int64_t> seconds = {0, 10, 30, 40, 40, 50, 75, 80, 80};
    for (size_t at = 0; at < seconds.size(); ++at) log.lines[at + 2].time_ms = start + 1000 * seconds[at];
    const LogFacts facts = verdict_on(log).facts;
    EXPECT_DOUBLE_EQ(facts.evaluation_seconds.value(), 20 + 25);
    EXPECT_DOUBLE_EQ(facts.epochs_seconds.value(), 40 + 35);
    EXPECT_DOUBLE_EQ(facts.samples_per_second.value(), 1000 / (40.0 - 20));
}

TEST(bench_check, an_evaluation_beyond_its_epoch_is_within_it_as_far_as_it_goes) {
    TestLog log;
    log.add("train_samples", "1000");
    for (const char* key :
         {"run_start", "epoch_start", "eval_start", "epoch_stop", "eval_stop", "epoch_start", "epoch_stop"})
        log.add(key, "null");  // one second each
    EXPECT_DOUBLE_EQ(verdict_on(log).facts.samples_per_second.value(), 2 * 1000 / (2.0 - 1 + 1));
}

TEST(bench_check, times_that_are_not_finite_are_not_known) {
    const TestLog log = valid_log("oc20", "closed");
    const auto with_time = [&](std::string_view key, std::string_view time) {
        TestLog other = log;
        const std::string known = fmt::format("\"time_ms\": {},", other.line(key).time_ms);
        std::string text = other.text();
        text.replace(text.find(known), known.size(), fmt::format("\"time_ms\": \"{}\",", time));
        return check_log(rules_named("3.0.0"), "result_0.txt", text, {}).facts;
    };
    for (const char* time : {"nan", "inf", "-inf"}) {
        EXPECT_FALSE(with_time("run_start", time).run_start) << time;
        EXPECT_FALSE(with_time("run_start", time).minutes) << time;
        EXPECT_FALSE(with_time("run_stop", time).minutes) << time;
        EXPECT_TRUE(with_time("run_stop", time).success) << time;
        EXPECT_FALSE(with_time("staging_start", time).staging_start) << time;
        EXPECT_FALSE(with_time("staging_start", time).staging_seconds) << time;
        EXPECT_FALSE(with_time("epoch_start", time).samples_per_second) << time;
    }
}

// With two lines of tracked_stats at its end, and others before them.
TestLog log_with_steps(const std::vector<TestLine>& before) {
    TestLog log = valid_log("oc20", "closed");
    const auto stop = std::ranges::find(log.lines, std::string("run_stop"), &TestLine::key);
    TestLine line = *stop;
    line.key = "tracked_stats";
    line.value =
        R"({"step": 10, "data_wait_seconds": 0.1, "exposed_communication_seconds": 0.01, "samples_per_second": 100})";
    TestLine second = line;
    second.value =
        R"({"step": 40, "data_wait_seconds": 0.5, "exposed_communication_seconds": 0.05, "samples_per_second": 300})";
    const auto first = log.lines.insert(stop, {line, second});
    log.lines.insert(first, before.begin(), before.end());
    return log;
}

// 10 steps at 100 samples/s and 30 at 50: 40 steps in 0.8 + 4.8 s with 8 samples each.
TEST(bench_check, a_log_of_our_own_trainer_says_what_a_sample_takes) {
    TestLog log;
    log.add_values({{"number_of_ranks", "4"}, {"model_parameters_count", "147740"}});
    log.add(
        "tracked_stats",
        R"({"step": 10, "samples_per_second": 100, "step_seconds": 0.08, "fp32_flops_per_second": 100e9})");
    log.add("tracked_stats",
            R"({"step": 40, "samples_per_second": 50, "step_seconds": 0.16, "fp32_flops_per_second": 50e9, )"
            R"("memory_bytes_per_second": 1e9})");
    const LogFacts facts = facts_of_log(log.text(), "run.log").value();
    EXPECT_EQ(facts.ranks, 4);
    EXPECT_EQ(facts.model_parameters, 147740);
    EXPECT_NEAR(facts.samples_per_second.value(), 320 / 5.6, 1e-9);
    EXPECT_NEAR(facts.step_seconds.value(), 5.6 / 40, 1e-12);
    EXPECT_NEAR(facts.flops_per_sample.value(), 1e9, 1e-3);
    EXPECT_NEAR(facts.memory_bytes_per_sample.value(), 2e7, 1e-3) << "of the rows that say it";
}

TEST(bench_check, steps_that_begin_again_count) {
    TestLog log;
    log.add("tracked_stats", R"({"step": 100, "samples_per_second": 10})");
    log.add("tracked_stats", R"({"step": 100, "samples_per_second": 20})");
    EXPECT_NEAR(facts_of_log(log.text(), "run.log")->samples_per_second.value(), 200 / 15.0, 1e-9)
        << "of each run as many";
}

TEST(bench_check, what_is_wrong_in_tracked_stats_says_nothing) {
    TestLog log;
    for (const char* value : {"5", "[]", R"({"samples_per_second": 0})", R"({"samples_per_second": "fast"})",
                              R"({"samples_per_second": true})", R"({"samples_per_second": NaN})"})
        log.add("tracked_stats", value);
    log.add("number_of_ranks", "\"many\"");
    const LogFacts facts = facts_of_log(log.text(), "run.log").value();
    EXPECT_FALSE(facts.samples_per_second);
    EXPECT_FALSE(facts.flops_per_sample);
    EXPECT_FALSE(facts.step_seconds);
    EXPECT_FALSE(facts.ranks);
}

TEST(bench_check, facts_of_a_file_without_mllog_are_refused_with_its_name) {
    for (const std::string_view text : {"", "hello\n", ":::MLLOG {\n"}) {
        const auto refused = facts_of_log(text, "notes.txt");
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
        EXPECT_EQ(refused.error().message(), "notes.txt: no line of it is MLLOG");
        EXPECT_NE(refused.error().hint_text(), "");
    }
}

TEST(bench_check, a_key_has_a_fact_where_its_value_is_a_number) {
    LogFacts facts;
    facts.*number_fact("number_of_nodes") = 3;
    EXPECT_EQ(facts.nodes, 3);
    EXPECT_EQ(number_fact("seed"), nullptr);
    EXPECT_EQ(number_fact("nobody's"), nullptr);
}

TEST(bench_check, a_run_that_goes_on_begins_to_count_where_it_does) {
    const TestLine resumed{.key = "resumed_from_step", .value = "8", .metadata = "{}"};
    EXPECT_DOUBLE_EQ(verdict_on(log_with_steps({resumed})).facts.data_wait_seconds_per_step.value(),
                     (2 * 0.1 + 30 * 0.5) / 32);
}

TEST(bench_check, waits_are_means_over_the_steps_of_tracked_stats) {
    const LogFacts facts = verdict_on(log_with_steps({})).facts;
    EXPECT_DOUBLE_EQ(facts.data_wait_seconds_per_step.value(), (10 * 0.1 + 30 * 0.5) / 40);
    EXPECT_DOUBLE_EQ(facts.exposed_communication_seconds_per_step.value(), (10 * 0.01 + 30 * 0.05) / 40);
    EXPECT_DOUBLE_EQ(facts.samples_per_second.value(), 40 / (10 / 100.0 + 30 / 300.0));
}

}  // namespace
}  // namespace belay::bench
