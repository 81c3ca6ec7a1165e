#include "findings/engine.h"

#include "findings/cases.h"
#include "findings/catalogue.h"
#include "findings/prepared_tables.h"
#include "findings/report_text.h"
#include "schema/tables/gpu_digest.h"
#include "schema/tables/sampled_series.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::findings {
namespace {

using testing::HasSubstr;

RuleSet rules_of(const std::string& text) {
    std::vector<RuleFile> files = {{"site.toml", text}};
    return load_rules(files).value();
}

// A sound run of `seconds`, and what else the TOML says.
record::Archive run_of(int seconds, const std::string& more = "") {
    std::string text = fmt::format(
        "[[case]]\nrule='x'\nname='x'\nfires=false\nseconds={}\n"
        "use=['host','allotment','ranks','steps','network']\n{}",
        seconds, more);
    return build_case(parse_cases(text, "t").value().front()).value();
}

std::string rule_text(std::string_view id, std::string_view more,
                      std::string_view sql = "SELECT node, count(*) AS rows FROM host GROUP BY node") {
    return fmt::format("[[rule]]\nid = '{}'\ntitle = 't'\nadvice = 'a'\nsql = '''{}'''\n{}\n", id, sql, more);
}

std::string why_skipped(const Report& report, std::string_view id) {
    auto found = std::ranges::find(report.skipped, id, &Skipped::id);
    return found != report.skipped.end() ? found->why : "";
}

TEST(findings, a_rule_is_skipped_with_the_reason) {
    RuleSet rules =
        rules_of(rule_text("needs_gpus", "needs = ['gpu_series']") + rule_text("long", "min_run = '10m'") +
                 rule_text("condition", "applies_when = 'SELECT 1 > 2'\notherwise = 'one is less'") +
                 rule_text("covered", "needs = ['node_series']") + rule_text("plain", ""));
    auto archive = run_of(120, R"(
        [[case.fill]]
        table = 'coverage'
        from = 120
        set = { table_name = "'host'", interval_seconds = 1, expected = 120, received = 60 })");
    Report report = diagnose(archive, rules, {}).value();
    EXPECT_EQ(why_skipped(report, "needs_gpus"), "no rows in gpu_series");
    EXPECT_THAT(why_skipped(report, "long"), HasSubstr("of the run after start-up, it takes 10m00s"));
    EXPECT_EQ(why_skipped(report, "condition"), "one is less");
    EXPECT_EQ(why_skipped(report, "covered"), "coverage of host is 50 %, it takes 80 %");
    EXPECT_THAT(report.evaluated, testing::ElementsAre("plain"));
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_FALSE(report.findings[0].is_sure) << "the run is short";
    EXPECT_FALSE(is_healthy(report));
}

TEST(findings, the_start_up_ends_with_the_first_step) {
    auto archive = run_of(120);
    findings::Run run = prepare(archive, {}).value();
    EXPECT_NEAR(run.seconds(), 120, 1);
    EXPECT_NEAR(run.steady_seconds(), 110, 1);
    auto without_steps = build_case(parse_cases("[[case]]\nrule='x'\nname='x'\nfires=false\nseconds=1000\n"
                                                "use=['host']\n",
                                                "t")
                                        .value()
                                        .front())
                             .value();
    EXPECT_NEAR(prepare(without_steps, {})->steady_seconds(), 970, 1);
}

TEST(findings, a_counter_that_goes_back_has_no_rate_there) {
    auto archive = build_case(parse_cases(R"toml(
        [[case]]
        rule = 'x'
        name = 'x'
        fires = false
        seconds = 20
        [[case.fill]]
        table = 'host'
        set = { cpu_count = 4, cpu_user_seconds_total = "if(t < 10, 100 + 2 * t, 3 * t)", cpu_system_seconds_total = 0 })toml",
                                          "t")
                                  .value()
                                  .front())
                       .value();
    findings::Run run = prepare(archive, {}).value();
    EXPECT_EQ(run.bucket_seconds, 1);
    auto rows = archive.query("SELECT cpus_used FROM host_series ORDER BY time")->rows;
    ASSERT_EQ(rows.size(), 20u) << "a sample tells of the second before it";
    EXPECT_EQ(rows[0][0], record::Value(2.0));
    EXPECT_EQ(rows[5][0], record::Value(2.0));
    EXPECT_TRUE(std::holds_alternative<std::monostate>(rows[9][0])) << "missing, not 0 and not negative";
    EXPECT_EQ(rows[15][0], record::Value(3.0));
}

TEST(findings, what_explains_comes_first_and_what_it_explains_says_so) {
    RuleSet rules = rules_of(rule_text("symptom", "severity = 'critical'\nrank = 1") +
                             rule_text("cause", "severity = 'warning'\nexplains = ['symptom']\nrank = 50") +
                             rule_text("note", "explains = ['symptom']\nrank = 0",
                                       "SELECT node, 1 AS rows, 'info' AS severity FROM host LIMIT 1"));
    auto archive = run_of(120);
    Report report = diagnose(archive, rules, {}).value();
    ASSERT_EQ(report.findings.size(), 3u);
    EXPECT_EQ(report.findings[0].id, "cause");
    EXPECT_EQ(report.findings[1].id, "note");
    EXPECT_EQ(report.findings[2].id, "symptom");
    EXPECT_THAT(report.findings[2].caused_by, testing::ElementsAre("cause"))
        << "what is only noted this time does not";
}

TEST(findings, of_two_that_explain_each_other_one_is_the_cause) {
    RuleSet rules =
        rules_of(rule_text("a", "explains = ['b']\nrank = 2") + rule_text("b", "explains = ['a']\nrank = 1"));
    auto archive = run_of(120);
    Report report = diagnose(archive, rules, {}).value();
    EXPECT_EQ(report.findings[0].id, "b");
    EXPECT_TRUE(report.findings[0].caused_by.empty());
    EXPECT_THAT(report.findings[1].caused_by, testing::ElementsAre("b"));
}

TEST(findings, what_was_at_another_time_explains_nothing) {
    std::string early = "SELECT $run_start AS start, $run_start AS \"end\", 1 AS x";
    std::string late = "SELECT $run_end AS start, $run_end AS \"end\", 1 AS x";
    RuleSet rules =
        rules_of(rule_text("cause", "explains = ['symptom']", early) + rule_text("symptom", "", late));
    auto archive = run_of(120);
    Report report = diagnose(archive, rules, {}).value();
    EXPECT_EQ(report.findings.size(), 2u);
    for (const Finding& finding : report.findings) EXPECT_TRUE(finding.caused_by.empty());
}

TEST(findings, rows_become_one_finding_with_its_entities) {
    RuleSet rules = rules_of(rule_text(
        "r",
        "summary = '{n} of {entities} on {node}: {gone}'\n[rule.evidence]\nn = { unit = 'B' }\ngone = {}",
        "SELECT 'n' || k AS node, 'd' || k AS device, 2048 * k AS n, NULL AS gone, "
        "if(k = 2, 'critical', 'info') AS severity FROM range(3, 0, -1) t(k)"));
    ASSERT_TRUE(rules.problems.empty()) << rules.problems[0].render();
    auto archive = run_of(120);
    Finding finding = diagnose(archive, rules, {})->findings.at(0);
    EXPECT_EQ(finding.summary, "6.00 KiB of 3 on n3: unknown");
    EXPECT_EQ(finding.severity, Severity::kCritical) << "the worst of the rows";
    EXPECT_THAT(finding.nodes, testing::ElementsAre("n3", "n2", "n1"));
    EXPECT_EQ(finding.entities.size(), 3u);
    auto json = to_json({.findings = {finding}});
    EXPECT_EQ(json["findings"][0]["evidence"]["n"], 6144);
    EXPECT_TRUE(json["findings"][0]["evidence"]["gone"].is_null()) << "missing is null, never 0";
    for (const char* key : {"id", "severity", "title", "start", "end", "nodes", "devices", "confidence",
                            "evidence", "advice", "references"})
        EXPECT_TRUE(json["findings"][0].contains(key)) << key;
}

TEST(findings, text_of_a_record_does_not_steer_a_terminal) {
    RuleSet rules = rules_of(rule_text("r", "summary = '{message}'\n[rule.evidence]\nmessage = {}",
                                       "SELECT 'n' || chr(27) || '[2J' AS node, 'd' || chr(7) AS device, "
                                       "chr(27) || ']0;x' || chr(10) AS message"));
    ASSERT_TRUE(rules.problems.empty()) << rules.problems[0].render();
    auto archive = run_of(120);
    Report report = diagnose(archive, rules, {}).value();
    ASSERT_EQ(report.findings.size(), 1u);
    std::string text = report_text(report);
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find('\a'), std::string::npos);
    EXPECT_THAT(text, HasSubstr("    ?]0;x?\n"));
    EXPECT_EQ(to_json(report)["findings"][0]["nodes"][0], "n\x1b[2J") << "JSON escapes by itself";
}

TEST(findings, rules_that_were_not_asked_are_counted_by_what_they_lack) {
    Report report{.evaluated = {"a"}};
    for (const char* id : {"b", "c"})
        report.skipped.push_back({id, "5 s of the run, it takes 30 s", "a longer run"});
    for (const char* id : {"d", "e", "f"})
        report.skipped.push_back({id, "no rows in gpu", "samples of GPUs"});
    report.skipped.push_back({"g", "does not apply", ""});
    EXPECT_EQ(
        report_text(report),
        "Nothing was found.\n\n1 rule evaluated, 6 skipped: 3 need samples of GPUs, 2 need a longer run, "
        "1 does not apply (--json says which).\n");
}

TEST(findings, a_rule_that_fails_does_not_stop_the_others) {
    RuleSet rules = rules_of(rule_text("fails", "", "SELECT CAST(node AS INTEGER) AS x FROM host") +
                             rule_text("plain", ""));
    auto archive = run_of(120);
    Report report = diagnose(archive, rules, {}).value();
    EXPECT_THAT(report.evaluated, testing::ElementsAre("plain"));
    EXPECT_THAT(why_skipped(report, "fails"), HasSubstr("its SQL failed"));
    ASSERT_EQ(report.problems.size(), 1u);
    EXPECT_EQ(report.problems[0].position()->file, "site.toml");
    EXPECT_THAT(report.problems[0].message(), HasSubstr("rule fails, while it read this record"));
}

TEST(findings, a_record_of_nothing_has_no_findings) {
    auto archive = record::Archive::in_memory().value();
    RuleSet rules = load_rules(builtin_files()).value();
    Report report = diagnose(archive, rules, {}).value();
    EXPECT_TRUE(report.findings.empty());
    EXPECT_TRUE(report.evaluated.empty());
    EXPECT_TRUE(report.problems.empty());
    EXPECT_EQ(report.skipped.size(), rules.rules.size());
    EXPECT_TRUE(is_healthy(report));
}

TEST(findings, gpu_tables_of_the_face_are_used) {
    auto archive = run_of(120);
    RuleSet rules = rules_of(rule_text("r", "needs = ['gpu_summary']", "SELECT device FROM gpu_summary"));
    Report report = diagnose(archive, rules, [](record::Archive& into) {
                        stream::Batch rows(schema::kGpuSummary);
                        rows.add_row(core::time_from_nanoseconds(1'767'225'600'000'000'000), "n0");
                        rows.set(2, "GPU-1");
                        return into.add(schema::kGpuSummary, rows);
                    }).value();
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_THAT(report.findings[0].devices, testing::ElementsAre("GPU-1"));
}

TEST(findings, columns_that_are_told_are_there_and_no_others) {
    auto archive = run_of(60);
    ASSERT_TRUE(prepare(archive, {}));
    for (const PreparedTable& table : prepared_tables()) {
        auto columns = archive.columns_of("SELECT * FROM " + table.name);
        ASSERT_TRUE(columns) << table.name;
        std::set<std::string> told = {"time", "node"};
        for (const PreparedColumn& column : table.columns) {
            EXPECT_THAT(*columns, testing::Contains(column.name)) << table.name;
            EXPECT_FALSE(column.doc.empty()) << table.name << ", " << column.name;
            told.insert(column.name);
        }
        for (const std::string& column : *columns) {
            const auto& of_node = schema::kHostSeries.columns;
            const bool is_of_node =
                table.name == "node_series" &&
                std::ranges::find(of_node, column, &schema::Column::name) != of_node.end();
            EXPECT_TRUE(is_of_node || told.contains(column)) << table.name << ", " << column;
        }
    }
}

// Rows that are alike in what they are ordered by come in any order.
TEST(findings, every_rule_orders_its_rows_to_the_last_name) {
    auto archive = run_of(60);
    const findings::Run run = prepare(archive, {}).value();
    const RuleSet rules = load_rules(builtin_files()).value();
    for (const Rule& rule : rules.rules) {
        if (rule.detector != nullptr) continue;
        const auto columns = archive.columns_of(with_values(rule, rule.sql, run));
        ASSERT_TRUE(columns) << rule.id << ": " << columns.error().message();
        const size_t order = rule.sql.rfind("ORDER BY");
        const std::string ordered_by = order == std::string::npos ? "" : rule.sql.substr(order);
        for (const std::string name : {"node", "device", "task"}) {
            if (std::ranges::find(*columns, name) == columns->end()) continue;
            EXPECT_THAT(ordered_by, testing::ContainsRegex("[ .]" + name)) << rule.id;
        }
    }
}

// How a task that ended with `code` at second 118 is told, and Slurm ended its job in `state` at second 120.
std::string told_of_task(int code, std::string_view state, int seconds = 118) {
    const std::string text = fmt::format(R"(
        [[case]]
        rule = 'x'
        name = 'x'
        fires = false
        seconds = 120
        [[case.fill]]
        table = 'event'
        from = {1}
        to = {1}
        set = {{ task = 1, kind = "'task_end'", severity = "'critical'", code = {0}, message = "'it ended'" }}
        [[case.fill]]
        table = 'event'
        from = 120
        set = {{ kind = "'job_end'", source = "'slurm'", severity = "'critical'", subject = "'{2}'", message = "''" }})",
                                         code, seconds, state);
    auto archive = build_case(parse_cases(text, "t").value().front()).value();
    static const RuleSet rules = [] {
        RuleSet all = load_rules(builtin_files()).value();
        std::erase_if(all.rules, [](const Rule& rule) { return rule.id != "task_failed"; });
        return all;
    }();
    const Report report = diagnose(archive, rules, {}).value();
    const auto found = std::ranges::find(report.findings, "task_failed", &Finding::id);
    return found == report.findings.end() ? "" : found->summary;
}

TEST(findings, who_sent_a_signal_is_told_where_the_state_of_the_job_tells) {
    EXPECT_EQ(told_of_task(-15, "TIMEOUT"), "rank 1 on n0: it ended, sent by Slurm, at the time limit");
    EXPECT_EQ(told_of_task(-9, "CANCELLED"),
              "rank 1 on n0: it ended, sent by Slurm, when the job was cancelled");
    EXPECT_EQ(told_of_task(-9, "OUT_OF_MEMORY", 60),
              "rank 1 on n0: it ended, sent by the kernel, at the memory limit of the job");
    EXPECT_EQ(told_of_task(-9, "TIMEOUT", 60), "rank 1 on n0: it ended") << "long before the limit";
    EXPECT_EQ(told_of_task(-11, "TIMEOUT"),
              "rank 1 on n0: it ended: it used memory that does not belong to it")
        << "a crash";
    EXPECT_EQ(told_of_task(1, "TIMEOUT"), "rank 1 on n0: it ended") << "no signal";
    EXPECT_EQ(told_of_task(-15, "OUT_OF_MEMORY"), "rank 1 on n0: it ended");
    EXPECT_EQ(told_of_task(-9, "FAILED"), "rank 1 on n0: it ended");
}

}  // namespace
}  // namespace belay::findings
