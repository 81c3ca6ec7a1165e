// The semantics of the official checker, quirk by quirk.
#include "bench/compliance/check.h"

#include "bench/compliance/log_buffer.h"
#include "bench/compliance/log_for_tests.h"
#include "bench/compliance/mllog_reader.h"
#include "bench/compliance/verdict_json.h"
#include "core/file.h"

namespace belay::bench {
namespace {

using Keys = std::vector<std::string>;

LogVerdict verdict_of_value(std::string_view benchmark, std::string_view key, const std::string& value,
                            const CheckOptions& options = {}) {
    TestLog log = valid_log(benchmark, "closed");
    log.set_value(key, value);
    return verdict_on(log, options);
}

TEST(bench_check, unknown_keys_are_ignored_and_events_after_run_stop_are_not_policed) {
    TestLog log = valid_log("oc20", "closed");
    log.add("nobody_knows_this", "{\"a\": [1, 2]}");
    log.add("epoch_start", "null", R"({"epoch_num": 99})");
    log.add("eval_error", "0.9", R"({"epoch_num": 99})");
    EXPECT_TRUE(verdict_on(log).passed) << all_of(verdict_on(log).errors);
}

TEST(bench_check, aborted_runs_pass_but_have_neither_success_nor_epochs) {
    TestLog log = valid_log("oc20", "closed");
    log.set_metadata("run_stop", R"({"status": "aborted"})");
    const LogVerdict verdict = verdict_on(log);
    EXPECT_TRUE(verdict.passed);
    EXPECT_FALSE(verdict.facts.success);
    EXPECT_FALSE(verdict.facts.epochs);
    const auto explained = explain_log(rules_named("3.0.0"), "f", log.text(), {});
    EXPECT_EQ(keys_of(explained.notes), Keys{"run_stop"});
}

TEST(bench_check, submission_keys_are_tested_the_first_time_only) {
    TestLog log = valid_log("oc20", "closed");
    log.add("submission_org", "\"\"");
    EXPECT_EQ(keys_of(verdict_on(log).errors), Keys{"submission_org"}) << "two different values";
    TestLog empty_first = valid_log("oc20", "closed");
    empty_first.set_value("submission_org", "\"\"");
    empty_first.add("submission_org", "\"\"");
    const LogVerdict verdict = verdict_on(empty_first);
    ASSERT_EQ(verdict.errors.size(), 1u);
    EXPECT_EQ(verdict.errors[0].line, 1) << "not that of the second";
    EXPECT_EQ(keys_of(verdict.warnings), Keys{"submission_org"});
    // The key only has to contain the word.
    TestLog openfold = valid_log("openfold", "closed");
    openfold.add("val_min_cameo_submission_date", "\"2021-09-18\"");
    ASSERT_EQ(verdict_on(openfold).errors.size(), 1u);
    EXPECT_TRUE(verdict_on(openfold).errors[0].text.contains("found 2 times"))
        << all_of(verdict_on(openfold).errors);
}

TEST(bench_check, a_repeated_division_does_not_bring_its_rules_again) {
    TestLog log = valid_log("oc20", "open");
    log.add("submission_division", "\"closed\"");
    const LogVerdict verdict = verdict_on(log);
    EXPECT_EQ(keys_of(verdict.errors), Keys{"submission_division"});
}

TEST(bench_check, a_value_of_the_wrong_type_fails_where_python_raises) {
    for (const char* value : {"null", "\"5\"", "[5]", "{\"a\": 5}"})
        EXPECT_EQ(keys_of(verdict_of_value("oc20", "global_batch_size", value).errors),
                  Keys{"global_batch_size"})
            << value;
    TestLog log = valid_log("oc20", "closed");
    for (const char* metadata : {"null", "5", "true"}) {
        log.set_metadata("epoch_start", metadata);
        EXPECT_EQ(keys_of(verdict_on(log).errors), Keys{"epoch_start"}) << metadata;
    }
}

TEST(bench_check, a_word_is_also_found_in_metadata_that_are_a_list_or_a_text) {
    for (const char* metadata : {R"(["status"])", R"("the status is good")"}) {
        TestLog log = valid_log("oc20", "closed");
        log.set_metadata("run_stop", metadata);
        EXPECT_TRUE(verdict_on(log).passed) << metadata;
    }
    TestLog log = valid_log("oc20", "closed");
    log.set_metadata("run_stop", R"(["success"])");
    EXPECT_FALSE(verdict_on(log).passed);
}

TEST(bench_check, a_target_that_cannot_be_compared_fails_where_the_official_checker_crashes) {
    const LogVerdict verdict = verdict_of_value("oc20", "eval_error", "\"0.03\"");
    EXPECT_EQ(keys_of(verdict.errors), Keys{"eval_error"});
    EXPECT_TRUE(verdict.errors.at(0).text.contains("cannot be compared")) << all_of(verdict.errors);
}

TEST(bench_check, numbers_compare_as_pythons_do) {
    struct Case {
        const char *benchmark, *key, *value;
        bool passes;
    };
    for (const Case& one : {
             Case{"oc20", "global_batch_size", "true", true},  // equals 1
             Case{"oc20", "global_batch_size", "false", false},
             Case{"oc20", "global_batch_size", "NaN", false},
             Case{"oc20", "global_batch_size", "Infinity", true},
             Case{"oc20", "global_batch_size", "1000000000000000000000000000000", true},
             Case{"oc20", "global_batch_size", "-1000000000000000000000000000000", false},
             Case{"deepcam", "train_samples", "121266.0", true},
             Case{"deepcam", "opt_max_grad_norm", "7", true},  // no rule without LAMB
             Case{"deepcam", "eval_accuracy", "true", true},
             Case{"deepcam", "eval_accuracy", "NaN", false},
             Case{"deepcam", "opt_betas", "\"ab\"", true},  // has length 2
             Case{"deepcam", "opt_betas", "\"\\u00e9\\u00e9\"", true},
             Case{"deepcam", "opt_eps", "1.0000000001e-06", true},
             Case{"deepcam", "opt_eps", "null", false},
             Case{"deepcam", "scheduler_milestones", "\"\"", true},  // has a length
             Case{"openfold", "templates_enabled", "1", true},
             Case{"openfold", "opt_amsgrad", "0.0", true},
             Case{"openfold", "opt_amsgrad", "null", false},
             Case{"oc20", "submission_org", "null", true},  // null is not ''
             Case{"oc20", "train_samples", "null", true},
         })
        EXPECT_EQ(verdict_of_value(one.benchmark, one.key, one.value).passed, one.passes)
            << one.benchmark << " " << one.key << " " << one.value;
}

TEST(bench_check, the_same_value_twice_is_a_warning_that_werror_and_quiet_change) {
    TestLog log = valid_log("oc20", "closed");
    log.add("global_batch_size", "256.0");  // equals 256
    EXPECT_TRUE(verdict_on(log).passed);
    EXPECT_EQ(keys_of(verdict_on(log).warnings), Keys{"global_batch_size"});
    EXPECT_TRUE(verdict_on(log, {.quiet = true}).passed);
    EXPECT_TRUE(verdict_on(log, {.quiet = true}).warnings.empty());
    EXPECT_EQ(keys_of(verdict_on(log, {.warnings_are_errors = true}).errors), Keys{"global_batch_size"});
    EXPECT_FALSE(verdict_on(log, {.warnings_are_errors = true, .quiet = true}).passed);
    TestLog different = valid_log("oc20", "closed");
    different.add("global_batch_size", "257");
    EXPECT_EQ(keys_of(verdict_on(different).errors), Keys{"global_batch_size"});
    TestLog not_a_number = valid_log("oc20", "closed");
    not_a_number.set_value("opt_learning_rate_decay_factor", "NaN");
    not_a_number.add("opt_learning_rate_decay_factor", "NaN");
    EXPECT_TRUE(verdict_on(not_a_number).passed) << "Python's JSON reader has one NaN object";
}

TEST(bench_check, one_of_a_pair_is_enough) {
    TestLog log = valid_log("oc20", "closed");
    for (const char* key : {"block_start", "block_stop"}) log.remove(key);
    EXPECT_TRUE(verdict_on(log).passed);
    for (const char* key : {"epoch_start", "eval_start"}) log.remove(key);
    EXPECT_EQ(keys_of(verdict_on(log).errors), (Keys{"block_start", "eval_start"})) << "each pair once";
    TestLog blocks = valid_log("oc20", "closed");
    for (const char* key : {"epoch_start", "epoch_stop", "eval_start", "eval_stop"}) blocks.remove(key);
    EXPECT_TRUE(verdict_on(blocks).passed);
}

TEST(bench_check, any_occurrence_may_reach_the_target_and_none_is_the_count_rules_matter) {
    TestLog log = valid_log("oc20", "closed");
    log.set_value("eval_error", "0.9");
    log.line("eval_error").value = "0.036";
    EXPECT_TRUE(verdict_on(log).passed) << "the last one misses it";
    const auto explained = explain_log(rules_named("3.0.0"), "f", log.text(), {});
    EXPECT_EQ(keys_of(explained.notes), Keys{"eval_error"});
    log.remove("eval_error");
    const LogVerdict verdict = verdict_on(log);
    ASSERT_EQ(verdict.errors.size(), 1u);
    EXPECT_TRUE(verdict.errors[0].text.contains("missing"));
}

TEST(bench_check, a_later_file_drops_the_message_of_a_key_and_decides_alone) {
    // common: train_samples is not ''. closed_deepcam: it is 121266. One message is left.
    const LogVerdict verdict = verdict_of_value("deepcam", "train_samples", "\"\"");
    ASSERT_EQ(keys_of(verdict.errors), Keys{"train_samples"});
    EXPECT_TRUE(verdict.errors[0].text.contains("121266"));
    // closed_common: gradient_accumulation_frequency may be missing; closed_deepcam: it may not.
    TestLog without = valid_log("deepcam", "closed");
    without.remove("gradient_accumulation_frequency");
    EXPECT_FALSE(verdict_on(without).passed);
    without = valid_log("oc20", "closed");
    without.remove("gradient_accumulation_frequency");
    EXPECT_TRUE(verdict_on(without).passed);
    // With --werror, a warning of the first file is dropped with its messages, and the later file's own comes.
    TestLog twice = valid_log("deepcam", "closed");
    twice.add("train_samples", "121266");
    EXPECT_EQ(keys_of(verdict_on(twice, {.warnings_are_errors = true}).errors), Keys{"train_samples"});
}

TEST(bench_check, one_message_is_kept_for_each_key_and_it_is_the_last) {
    TestLog log = valid_log("oc20", "closed");
    log.set_metadata("epoch_start", "{}");
    const LogVerdict verdict = verdict_on(log);
    ASSERT_EQ(keys_of(verdict.errors), Keys{"epoch_start"});
    const auto last =
        std::ranges::find(log.lines.rbegin(), log.lines.rend(), std::string("epoch_start"), &TestLine::key);
    EXPECT_EQ(verdict.errors[0].line, log.lines.rend() - last);
}

TEST(bench_check, effects_come_also_after_a_test_that_failed) {
    // init_stop comes too late and is still taken as the end of init, so run_start has nothing to complain about.
    TestLog log = valid_log("oc20", "closed");
    log.line("init_stop").time_ms += 31 * 60 * 1000;
    EXPECT_EQ(keys_of(verdict_on(log).errors), Keys{"init_stop"});
    // Another case of a scheduler's name fails and brings its file of rules.
    TestLog deepcam = valid_log("deepcam", "closed");
    deepcam.set_value("scheduler_type", "\"MULTISTEP\"");
    deepcam.remove("scheduler_decay_rate");
    EXPECT_EQ(keys_of(verdict_on(deepcam).errors), (Keys{"scheduler_type", "scheduler_decay_rate"}));
}

TEST(bench_check, init_is_measured_from_the_earliest_init_start) {
    TestLog log = valid_log("oc20", "closed");
    TestLine earlier = log.line("init_start");
    earlier.time_ms = log.line("init_stop").time_ms - 30 * 60 * 1000;
    log.lines.insert(log.lines.begin() + 7, earlier);
    EXPECT_EQ(keys_of(verdict_on(log).errors), Keys{"init_stop"});
    log.line("init_stop").time_ms -= 1;
    EXPECT_TRUE(verdict_on(log).passed);
}

TEST(bench_check, an_unknown_division_benchmark_or_scheduler_has_no_rules) {
    struct Case {
        const char *benchmark, *key, *value;
    };
    for (const Case& one :
         {Case{"oc20", "submission_division", "\"ajar\""}, Case{"oc20", "submission_division", "7"},
          Case{"oc20", "submission_benchmark", "\"resnet\""},
          Case{"deepcam", "scheduler_type", "\"linear\""}}) {
        const LogVerdict verdict = verdict_of_value(one.benchmark, one.key, one.value);
        EXPECT_FALSE(verdict.passed);
        EXPECT_TRUE(all_of(verdict.errors).contains("no rules for")) << all_of(verdict.errors);
    }
}

TEST(bench_check, rules_that_name_themselves_end_where_the_official_checker_does_not) {
    EXPECT_FALSE(verdict_of_value("oc20", "submission_benchmark", "\"common\"").passed);
    TestLog log = valid_log("deepcam", "closed", "LAMB");
    for (int i = 0; i < 3; ++i) log.add("opt_name", "\"LAMB\"");
    log.remove("opt_max_grad_norm");
    EXPECT_EQ(keys_of(verdict_on(log).errors), Keys{"opt_max_grad_norm"}) << "once, not four times";
}

TEST(bench_check, a_log_without_lines_fails) {
    for (const char* text : {"", "nothing here\n", ":::MLLOG \n", "MLLOG {}\n"}) {
        const LogVerdict verdict = check_log(rules_named("3.0.0"), "f", text, {});
        EXPECT_FALSE(verdict.passed);
        EXPECT_TRUE(all_of(verdict.errors).contains("no line of it is MLLOG")) << all_of(verdict.errors);
    }
}

TEST(bench_check, a_line_that_cannot_be_read_fails_the_log_and_says_where) {
    struct Case {
        const char *line, *words;
    };
    for (const Case& one : {
             Case{R"({"time_ms": 1, "key": "a", "value": 1})", "missing field \"metadata\""},
             Case{R"({"time_ms": 1, "key": "a", "metadata": {}})", "missing field \"value\""},
             Case{R"({"time_ms": 1, "value": "a", "metadata": {}})", "missing field \"key\""},
             Case{R"({"key": "a", "value": 1, "metadata": {}})", "missing field \"time_ms\""},
             Case{R"({"time_ms": "1.2.3", "key": "a", "value": 1, "metadata": {}})", "not a number"},
             Case{R"({"time_ms": null, "key": "a", "value": 1, "metadata": {}})", "not a number"},
             Case{R"({"time_ms": 1, "key": "a", "value": 1, "metadata": {}} x)", "extra characters"},
             Case{"[1]", "not an object"},
         }) {
        TestLog log = valid_log("oc20", "closed");
        const LogVerdict verdict =
            check_log(rules_named("3.0.0"), "f", log.text() + ":::MLLOG " + one.line + "\n", {});
        ASSERT_EQ(verdict.errors.size(), 1u) << all_of(verdict.errors);
        EXPECT_EQ(verdict.errors[0].line, std::ssize(log.lines) + 1);
        EXPECT_TRUE(verdict.errors[0].text.contains(one.words)) << verdict.errors[0].text;
    }
    const LogVerdict many = check_log(rules_named("3.0.0"), "f",
                                      [] {
                                          std::string text = valid_log("oc20", "closed").text();
                                          for (int i = 0; i < 50; ++i) text += ":::MLLOG broken\n";
                                          return text;
                                      }(),
                                      {});
    EXPECT_EQ(many.errors.size(), kMostProblems + 1) << "and how many more there are";
}

TEST(bench_check, a_target_for_mini_profiles_replaces_the_official_one) {
    TestLog log = valid_log("cosmoflow", "closed");
    log.set_value("eval_error", "0.129");
    EXPECT_FALSE(verdict_on(log).passed);
    EXPECT_TRUE(verdict_on(log, {.target = 0.13}).passed);
    EXPECT_FALSE(verdict_on(log, {.target = 0.128}).passed);
    EXPECT_FALSE(verdict_on(valid_log("deepcam", "closed"), {.target = 0.95}).passed);
    EXPECT_TRUE(verdict_on(valid_log("deepcam", "closed"), {.target = 0.9}).passed);
}

TEST(bench_check, staging_within_the_initialization_is_noted) {
    TestLog log = valid_log("cosmoflow", "closed");
    EXPECT_TRUE(explain_log(rules_named("3.0.0"), "f", log.text(), {}).notes.empty());
    log.move_to_front("staging_start");
    const ExplainedVerdict early = explain_log(rules_named("3.0.0"), "f", log.text(), {});
    EXPECT_TRUE(early.verdict.passed);
    EXPECT_EQ(keys_of(early.notes), Keys{"staging_start"});
}

TEST(bench_check, a_result_is_as_good_as_a_benchmark_wants_or_not) {
    for (const std::string_view round : rule_set_names()) {
        const RuleSet& rules = rules_named(round);
        EXPECT_TRUE(reaches_target(rules, "cosmoflow", 0.124));
        EXPECT_FALSE(reaches_target(rules, "cosmoflow", 0.1241));
        EXPECT_FALSE(reaches_target(rules, "cosmoflow", -0.1));
        EXPECT_TRUE(reaches_target(rules, "deepcam", 0.82));
        EXPECT_FALSE(reaches_target(rules, "deepcam", 0.8199));
        EXPECT_FALSE(reaches_target(rules, "deepcam", 1.1));
        EXPECT_FALSE(reaches_target(rules, "chess", 0.5));
    }
}

TEST(bench_check, with_a_target_for_mini_profiles_the_data_may_have_any_number_of_samples) {
    TestLog log = valid_log("deepcam", "closed");
    log.set_value("train_samples", "128");
    log.set_value("eval_samples", "32");
    EXPECT_EQ(keys_of(verdict_on(log).errors), (Keys{"train_samples", "eval_samples"}));
    EXPECT_TRUE(verdict_on(log, {.target = 0.82}).passed);
    log.set_value("eval_samples", "0");
    EXPECT_EQ(keys_of(verdict_on(log, {.target = 0.82}).errors), Keys{"eval_samples"});
}

TEST(bench_check, an_explanation_says_what_each_rule_asks_and_what_was_seen_where) {
    TestLog log = valid_log("deepcam", "closed");
    log.set_value("opt_lr", "-1");
    const auto explained = explain_log(rules_named("3.0.0"), "f", log.text(), {});
    EXPECT_EQ(keys_of(explained.verdict.errors), keys_of(verdict_on(log).errors)) << "the same verdict";
    const auto rule = std::ranges::find(explained.rules, std::string("opt_lr"), &RuleReport::key);
    ASSERT_NE(rule, explained.rules.end());
    EXPECT_EQ(rule->file, "closed_deepcam");
    EXPECT_EQ(rule->asks, "exactly once; more than 0");
    EXPECT_EQ(rule->status, RuleReport::Status::kFail);
    EXPECT_EQ(rule->values, Keys{"-1"});
    EXPECT_EQ(rule->seen, 1);
    EXPECT_EQ(log.lines.at(static_cast<size_t>(rule->first_line) - 1).key, "opt_lr");
    const auto common = std::ranges::find(explained.rules, std::string("train_samples"), &RuleReport::key);
    EXPECT_FALSE(common->decides) << "closed_deepcam has a rule for it";
    EXPECT_EQ(explained.rules.size(), 19u + 5 + 14 + 2);
}

TEST(bench_check, json_has_the_members_of_the_contract) {
    const auto json = to_json(verdict_on(valid_log("oc20", "closed")));
    Keys names;
    for (const auto& [name, value] : json.items()) names.push_back(name);
    EXPECT_EQ(names, (Keys{"file", "benchmark", "ruleset", "status", "minutes", "epochs", "global_batch_size",
                           "accelerators", "samples_per_second", "staging_seconds", "errors", "warnings"}));
    EXPECT_EQ(json["accelerators"], 32);
    EXPECT_EQ(json["status"], "pass");
    const auto nothing = to_json(check_log(rules_named("1.0.0"), "f", "", {}));
    EXPECT_TRUE(nothing["minutes"].is_null());
    EXPECT_EQ(nothing["status"], "fail");
    EXPECT_FALSE(nothing["errors"].empty());
}

TEST(bench_check, a_buffer_reads_files_of_any_size_one_after_the_other) {
    const auto directory = core::TemporaryDirectory::create("bench_check_test").value();
    LogBuffer buffer;
    for (size_t size : {0, 10, 100'000, 3, 500'000}) {
        const std::string bytes(size, static_cast<char>('a' + size % 7));
        const auto path = directory.path() / fmt::format("{}.txt", size);
        ASSERT_TRUE(core::create_file(path, bytes));
        const auto read = buffer.read(path);
        ASSERT_TRUE(read) << read.error().message();
        EXPECT_TRUE(*read == bytes) << size;
    }
    EXPECT_FALSE(buffer.read(directory.path() / "missing.txt"));
    EXPECT_FALSE(buffer.read(directory.path()));
    EXPECT_TRUE(buffer.read("/dev/null").value().empty());
}

TEST(bench_check, there_are_rules_of_three_rounds_only) {
    for (const char* name : {"0.7.0", "3.0", "6.1.0", ""}) EXPECT_FALSE(RuleSet::named(name)) << name;
    const auto json =
        to_json(*rules_of(rules_named("3.0.0"), "cosmoflow", "closed"), "cosmoflow", "closed", "3.0.0");
    EXPECT_EQ(json["target"]["value"], 0.124);
    EXPECT_FALSE(rules_of(rules_named("3.0.0"), "resnet", "closed"));
    EXPECT_FALSE(rules_of(rules_named("3.0.0"), "oc20", "ajar"));
}

}  // namespace
}  // namespace belay::bench
