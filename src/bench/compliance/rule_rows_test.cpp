// Each row of the tables has a log that passes and logs that fail: the valid log of its benchmark, changed by what
// the row asks.
#include "bench/compliance/log_for_tests.h"

#include <functional>

namespace belay::bench {
namespace {

// A benchmark with what makes its rule files all be used.
struct Variant {
    std::string_view benchmark, division, optimizer = "AdamW", scheduler = "multistep";
    TestLog log() const { return valid_log(benchmark, division, optimizer, scheduler); }
    std::string name() const { return fmt::format("{} {} {} {}", benchmark, division, optimizer, scheduler); }
};

std::vector<Variant> variants(std::string_view rules) {
    std::vector<Variant> all;
    for (std::string_view division : {"closed", "open"}) {
        for (std::string_view benchmark : {"cosmoflow", "oc20", "deepcam"})
            all.push_back({benchmark, division});
        if (rules == "3.0.0") all.push_back({"openfold", division});
    }
    all.push_back({"deepcam", "closed", "LAMB", "multistep"});
    all.push_back({"deepcam", "closed", "LAMB", "cosine_annealing"});
    return all;
}

using Change = std::function<void(TestLog&, const Rule&, const RuleTest&)>;

std::string number(double value) {
    return fmt::format("{}", value);
}
Change value_of(std::string (*made)(const RuleTest&)) {
    return
        [made](TestLog& log, const Rule& rule, const RuleTest& test) { log.set_value(rule.key, made(test)); };
}

// What keeps a test of this kind content, at the edge where it has one, and what does not.
struct Changes {
    TestKind kind;
    std::vector<Change> good, bad;
};

const std::vector<Changes>& changes() {
    static const std::vector<Changes> all = {
        {TestKind::kNotEmpty, {}, {value_of([](const RuleTest&) { return std::string("\"\""); })}},
        {TestKind::kOneOf,
         {},
         {value_of([](const RuleTest&) { return std::string("\"another\""); }),
          value_of([](const RuleTest&) { return std::string("null"); })}},
        {TestKind::kMoreThan,
         {value_of([](const RuleTest& test) { return number(test.number + 1e-9); })},
         {value_of([](const RuleTest& test) { return number(test.number); }),
          value_of([](const RuleTest&) { return std::string("\"5\""); })}},
        {TestKind::kAtLeast,
         {value_of([](const RuleTest& test) { return number(test.number); })},
         {value_of([](const RuleTest& test) { return number(test.number - 1e-9); }),
          value_of([](const RuleTest&) { return std::string("null"); })}},
        {TestKind::kAtMost,
         {value_of([](const RuleTest& test) { return number(test.number); })},
         {value_of([](const RuleTest& test) { return number(test.number + 1e-9); })}},
        {TestKind::kFraction,
         {value_of([](const RuleTest&) { return std::string("0"); })},
         {value_of([](const RuleTest&) { return std::string("1"); }),
          value_of([](const RuleTest&) { return std::string("-0.1"); })}},
        {TestKind::kEquals,
         {value_of([](const RuleTest& test) { return fmt::format("{:.10f}", test.number); })},
         {value_of([](const RuleTest& test) { return number(test.number * 1.5 + 1); })}},
        {TestKind::kSampleCount,
         {value_of([](const RuleTest& test) { return number(test.number); })},
         {value_of([](const RuleTest& test) { return number(test.number - 1); })}},
        {TestKind::kEqualsWord, {}, {value_of([](const RuleTest&) { return std::string("\"another\""); })}},
        {TestKind::kEqualsBool,
         {value_of([](const RuleTest& test) { return number(test.number); })},
         {value_of([](const RuleTest& test) { return std::string(test.number != 0 ? "false" : "true"); })}},
        {TestKind::kTrue,
         {value_of([](const RuleTest&) { return std::string("\"yes\""); })},
         {value_of([](const RuleTest&) { return std::string("false"); })}},
        {TestKind::kLength,
         {value_of([](const RuleTest&) { return std::string("[1, 2]"); })},
         {value_of([](const RuleTest&) { return std::string("[1]"); }),
          value_of([](const RuleTest&) { return std::string("2"); })}},
        {TestKind::kHasLength,
         {value_of([](const RuleTest&) { return std::string("[]"); })},
         {value_of([](const RuleTest&) { return std::string("800"); })}},
        {TestKind::kCloseTo,
         {value_of([](const RuleTest& test) { return number(test.number * (1 + 1e-10)); })},
         {value_of([](const RuleTest& test) { return number(test.number * (1 + 1e-8)); })}},
        {TestKind::kAfter, {}, {[](TestLog& log, const Rule& rule, const RuleTest&) {
             log.move_to_front(rule.key);
         }}},
        {TestKind::kNotAfter, {}, {[](TestLog& log, const Rule& rule, const RuleTest&) {
             const TestLine again = log.line(rule.key);
             log.lines.push_back(again);
         }}},
        {TestKind::kSoonAfterInit,
         {[](TestLog& log, const Rule& rule, const RuleTest& test) {
             log.line(rule.key).time_ms =
                 log.line("init_start").time_ms + static_cast<int64_t>(test.number) - 1;
         }},
         {[](TestLog& log, const Rule& rule, const RuleTest& test) {
             log.line(rule.key).time_ms = log.line("init_start").time_ms + static_cast<int64_t>(test.number);
         }}},
        {TestKind::kMetadataHas,
         {},
         {[](TestLog& log, const Rule& rule, const RuleTest&) { log.set_metadata(rule.key, "{}"); },
          [](TestLog& log, const Rule& rule, const RuleTest&) { log.set_metadata(rule.key, "null"); }}},
        {TestKind::kMetadataPositive, {}, {[](TestLog& log, const Rule& rule, const RuleTest&) {
             log.set_metadata(rule.key, R"({"first_epoch_num": 1, "epoch_count": 0})");
         }}},
        {TestKind::kErrorReached,
         {value_of([](const RuleTest& test) { return number(test.number); })},
         {value_of([](const RuleTest& test) { return number(test.number + 1e-9); }),
          value_of([](const RuleTest&) { return std::string("0"); })}},
        {TestKind::kAccuracyReached,
         {value_of([](const RuleTest& test) { return number(test.number); }),
          value_of([](const RuleTest&) { return std::string("1"); })},
         {value_of([](const RuleTest& test) { return number(test.number - 1e-9); }),
          value_of([](const RuleTest&) { return std::string("1.01"); })}},
    };
    return all;
}

const Changes* changes_of(TestKind kind) {
    const auto found = std::ranges::find(changes(), kind, &Changes::kind);
    return found == changes().end() ? nullptr : &*found;
}

// Calls check(variant, row) for each rule that the variant's log is judged by.
void for_every_row(std::string_view rules,
                   const std::function<void(const Variant&, const BenchmarkRule&)>& check) {
    for (const Variant& variant : variants(rules)) {
        const auto rows = rules_of(rules_named(rules), variant.benchmark, variant.division);
        ASSERT_TRUE(rows) << rows.error().message();
        for (const BenchmarkRule& row : *rows) {
            const bool is_used = row.when.empty() ||
                                 row.when.contains(fmt::format("\"{}\"", variant.optimizer)) ||
                                 row.when.contains(fmt::format("\"{}\"", variant.scheduler));
            if (is_used) check(variant, row);
        }
    }
}

bool has_key(const std::vector<LogMessage>& messages, std::string_view key) {
    return std::ranges::find(messages, key, &LogMessage::key) != messages.end();
}

void expect_tests_decide(std::string_view rules, const Variant& variant, const BenchmarkRule& row) {
    std::vector<RuleTest> tests(row.rule->tests.begin(), row.rule->tests.end());
    tests.push_back(row.rule->any);
    for (const RuleTest& test : tests) {
        if (test.kind == TestKind::kNone || test.kind == TestKind::kHasValue) continue;
        const Changes* made = changes_of(test.kind);
        ASSERT_NE(made, nullptr) << row.rule->key << ": " << test_words(test);
        const auto what =
            fmt::format("HPC {}, {}, {}: {}", rules, variant.name(), row.rule->key, test_words(test));
        for (const Change& change : made->good) {
            TestLog log = variant.log();
            change(log, *row.rule, test);
            const LogVerdict verdict = verdict_on(log, {}, rules);
            EXPECT_TRUE(verdict.passed) << what << "\n" << all_of(verdict.errors);
        }
        for (const Change& change : made->bad) {
            TestLog log = variant.log();
            change(log, *row.rule, test);
            const LogVerdict verdict = verdict_on(log, {}, rules);
            EXPECT_FALSE(verdict.passed) << what;
            EXPECT_TRUE(has_key(verdict.errors, row.rule->key)) << what << "\n" << all_of(verdict.errors);
        }
    }
}

void expect_count_decides(std::string_view rules, const Variant& variant, const BenchmarkRule& row) {
    if (row.is_replaced && row.rule->count == RuleCount::kOptional) return;  // the later rule may want it
    const std::string what = fmt::format("HPC {}, {}, {}", rules, variant.name(), row.rule->key);
    TestLog without = variant.log();
    without.remove(row.rule->key);
    if (row.rule->count == RuleCount::kThisOrOther) {
        EXPECT_FALSE(has_key(verdict_on(without, {}, rules).errors, row.rule->key))
            << what << ": the other one is there";
        without.remove(row.rule->other);
    }
    EXPECT_EQ(has_key(verdict_on(without, {}, rules).errors, row.rule->key) ||
                  has_key(verdict_on(without, {}, rules).errors, row.rule->other),
              row.rule->count != RuleCount::kOptional)
        << what;
    if (row.rule->count != RuleCount::kExactlyOne) return;
    TestLog twice = variant.log();
    TestLine again = twice.line(row.rule->key);
    again.value = "\"a different value\"";
    twice.lines.push_back(again);
    EXPECT_TRUE(has_key(verdict_on(twice, {}, rules).errors, row.rule->key)) << what;
}

TEST(bench_check, the_valid_log_of_every_benchmark_passes_and_has_a_line_for_each_rule) {
    for (std::string_view rules : rule_set_names()) {
        for (const Variant& variant : variants(rules)) {
            const LogVerdict verdict = verdict_on(variant.log(), {.warnings_are_errors = true}, rules);
            EXPECT_TRUE(verdict.passed) << rules << " " << variant.name() << "\n" << all_of(verdict.errors);
        }
        for_every_row(rules, [](const Variant& variant, const BenchmarkRule& row) {
            TestLog log = variant.log();
            EXPECT_EQ(log.line(row.rule->key).key, row.rule->key);
        });
    }
}

TEST(bench_check, every_test_of_every_rule_of_round_1_fails_a_log) {
    for_every_row("1.0.0", [](const Variant& variant, const BenchmarkRule& row) {
        expect_tests_decide("1.0.0", variant, row);
    });
}

TEST(bench_check, every_test_of_every_rule_of_round_2_fails_a_log) {
    for_every_row("2.0.0", [](const Variant& variant, const BenchmarkRule& row) {
        expect_tests_decide("2.0.0", variant, row);
    });
}

TEST(bench_check, every_test_of_every_rule_of_round_3_fails_a_log) {
    for_every_row("3.0.0", [](const Variant& variant, const BenchmarkRule& row) {
        expect_tests_decide("3.0.0", variant, row);
    });
}

TEST(bench_check, every_rule_counts_its_key) {
    for (std::string_view rules : rule_set_names())
        for_every_row(rules, [&](const Variant& variant, const BenchmarkRule& row) {
            expect_count_decides(rules, variant, row);
        });
}

TEST(bench_check, the_rows_are_as_many_as_the_official_files_have) {
    size_t rows = 0;
    for (const RuleFile& file : all_rule_files()) rows += file.rules.size();
    // Of 3.0: common 19, closed_common 5, open_common 1, cosmoflow 10, deepcam 14, lamb 3, multistep 2, cosine 2,
    // oc20 8, openfold 39, four targets; and three that only 1.0 and 2.0 have.
    EXPECT_EQ(rows, 19u + 5 + 1 + 10 + 14 + 3 + 2 + 2 + 8 + 39 + 4 + 3);
}

TEST(bench_check, round_2_is_round_1_and_round_3_differs_in_staging_and_openfold) {
    const auto words = [](std::string_view rules, std::string_view division) {
        std::vector<std::string> all;
        for (std::string_view benchmark : {"cosmoflow", "deepcam", "oc20"}) {
            const auto rows = rules_of(rules_named(rules), benchmark, division);
            for (const BenchmarkRule& row : *rows)
                all.push_back(fmt::format("{} {} {}", row.file, row.rule->key, rule_words(*row.rule)));
        }
        return all;
    };
    for (std::string_view division : {"closed", "open"}) {
        EXPECT_EQ(words("1.0.0", division), words("2.0.0", division));
        EXPECT_NE(words("1.0.0", division), words("3.0.0", division));
    }
    TestLog staged_early = valid_log("oc20", "closed");
    staged_early.move_to_front("staging_stop");
    staged_early.move_to_front("staging_start");
    EXPECT_EQ(keys_of(verdict_on(staged_early, {}, "2.0.0").errors),
              std::vector<std::string>{"staging_start"});
    EXPECT_TRUE(verdict_on(staged_early, {}, "3.0.0").passed);
    EXPECT_FALSE(verdict_on(valid_log("openfold", "open"), {}, "2.0.0").passed);
    EXPECT_EQ(rules_of(rules_named("2.0.0"), "openfold", "closed").error().message(),
              "\"openfold\" is not a benchmark of HPC 2.0.0");
    EXPECT_EQ(rules_of(rules_named("2.0.0"), "oc20", "shut").error().message(), "\"shut\" is not a division");
}

}  // namespace
}  // namespace belay::bench
