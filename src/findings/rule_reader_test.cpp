#include "findings/rule_reader.h"

#include "findings/catalogue.h"
#include "findings/sql_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::findings {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kGood = R"([[rule]]
id = "good"
title = "t"
advice = "a"
sql = "SELECT node, count(*) AS n FROM host WHERE cpu_count > $cpus GROUP BY node"
[rule.thresholds]
cpus = { value = 4, unit = "", doc = "CPUs" }
[rule.evidence]
n = { unit = "", doc = "rows" }
)";

// The one mistake of a rule that is otherwise right.
core::Error mistake(std::string from, std::string to) {
    std::string text = kGood;
    text.replace(text.find(from), from.size(), to);
    std::vector<RuleFile> files = {
        {"site.toml", text},
        {"other.toml", "[[rule]]\nid='other'\ntitle='t'\nadvice='a'\nsql='SELECT 1 AS x'\n"}};
    RuleSet set = load_rules(files).value();
    EXPECT_EQ(set.problems.size(), 1u) << to;
    EXPECT_FALSE(set.rules.empty()) << "the other rule stays";
    EXPECT_EQ(set.rules.back().id, "other");
    if (set.problems.empty()) return core::Error(core::ErrorKind::kSystem, "none");
    EXPECT_EQ(set.problems[0].kind(), core::ErrorKind::kBadInput);
    EXPECT_TRUE(set.problems[0].position().has_value());
    return set.problems[0];
}

TEST(findings, a_rule_is_read_with_all_it_says) {
    RuleText text = parse_rules(kGood, "site.toml");
    ASSERT_TRUE(text.problems.empty()) << text.problems[0].render();
    const Rule& rule = text.rules.at(0);
    EXPECT_EQ(rule.id, "good");
    EXPECT_EQ(rule.severity, Severity::kWarning);
    EXPECT_EQ(rule.thresholds.at(0).value, 4);
    EXPECT_EQ(rule.min_run, std::chrono::seconds(30));
    EXPECT_EQ(rule.min_coverage, 0.8);
    EXPECT_FALSE(guards_text(rule).empty());
}

TEST(findings, mistakes_have_a_place_and_a_hint) {
    core::Error key = mistake("title =", "titel =");
    EXPECT_EQ(key.position()->line, 3);
    EXPECT_EQ(key.position()->column, 1);
    EXPECT_EQ(key.hint_text(), "did you mean \"title\"?");

    core::Error name = mistake("$cpus", "$cups");
    EXPECT_EQ(name.position()->line, 5);
    EXPECT_THAT(name.message(), HasSubstr("$cups"));
    EXPECT_EQ(name.hint_text(), "did you mean \"$cpus\"?");

    core::Error sql = mistake("FROM host", "FROM hots");
    EXPECT_EQ(sql.position()->line, 5);
    EXPECT_THAT(sql.message(), HasSubstr("hots"));

    EXPECT_THAT(mistake("cpu_count >", "cpus_count >").message(), HasSubstr("cpus_count"));
    EXPECT_THAT(mistake("> $cpus", "> 3").message(), HasSubstr("\"cpus\" is not used"));
    EXPECT_THAT(mistake("n = {", "m = {").message(), HasSubstr("no column \"m\""));
    EXPECT_THAT(mistake("advice = \"a\"", "advice = \"\"").message(), HasSubstr("advice is empty"));
    EXPECT_THAT(mistake("id = \"good\"", "id = \"Not Good\"").message(), HasSubstr("lower case"));
    EXPECT_THAT(mistake("id = \"good\"", "id = \"good\"\nseverity = \"bad\"").message(),
                HasSubstr("severity"));
    EXPECT_THAT(mistake("value = 4", "value = \"4\"").message(), HasSubstr("must be a number"));
    EXPECT_THAT(mistake("id = \"good\"", "id = \"good\"\nneeds = [\"hosts\"]").message(),
                HasSubstr("not a table"));
    EXPECT_THAT(mistake("id = \"good\"", "id = \"good\"\nmin_run = \"2 sec\"").message(),
                HasSubstr("min_run"));
}

TEST(findings, what_shows_the_evidence_must_be_in_a_report) {
    const std::string shown = "title = \"t\"\nshown_in = [\"job_cpu_share\", \"sm_share\", \"event\"]";
    std::string text = kGood;
    RuleText read = parse_rules(text.replace(text.find("title = \"t\""), 11, shown), "site.toml");
    ASSERT_TRUE(read.problems.empty()) << read.problems[0].render();
    EXPECT_THAT(read.rules.at(0).shown_in, ElementsAre("job_cpu_share", "sm_share", "event"));
    core::Error unknown = mistake("title = \"t\"", "title = \"t\"\nshown_in = [\"job_cpu_shore\"]");
    EXPECT_EQ(unknown.hint_text(), "did you mean \"job_cpu_share\"?");
}

TEST(findings, a_detector_must_exist_and_get_its_columns) {
    core::Error unknown = mistake("title = \"t\"", "title = \"t\"\ndetector = \"leek\"");
    EXPECT_EQ(unknown.hint_text(), "did you mean \"leak\"?");
    core::Error column = mistake("[rule.thresholds]", "detector = \"leak\"\n[rule.thresholds]");
    EXPECT_THAT(column.message(), HasSubstr("needs a column \"time\""));
}

TEST(findings, sql_can_only_select_from_the_record) {
    EXPECT_THAT(mistake("SELECT node, count(*) AS n FROM host WHERE cpu_count > $cpus GROUP BY node",
                        "DROP TABLE host; -- $cpus")
                    .message(),
                HasSubstr("sql"));
    EXPECT_THAT(mistake("FROM host", "FROM read_csv('/etc/passwd')").message(), HasSubstr("sql"));
}

TEST(findings, broken_toml_costs_its_file_only) {
    std::vector<RuleFile> files = {{"broken.toml", "[[rule"}, {"site.toml", kGood}};
    RuleSet set = load_rules(files).value();
    ASSERT_EQ(set.problems.size(), 1u);
    EXPECT_EQ(set.problems[0].position()->file, "broken.toml");
    EXPECT_EQ(set.rules.size(), 1u);
}

TEST(findings, a_site_changes_rules_that_are_there) {
    std::string change =
        "[[override]]\nid = 'good'\nseverity = 'critical'\nmin_run = '5m'\nthresholds = { cpus = 9 }\n";
    std::vector<RuleFile> files = {{"a.toml", kGood}, {"b.toml", change}};
    RuleSet set = load_rules(files).value();
    ASSERT_TRUE(set.problems.empty());
    EXPECT_EQ(set.rules.at(0).severity, Severity::kCritical);
    EXPECT_EQ(set.rules.at(0).min_run, std::chrono::minutes(5));
    EXPECT_EQ(set.rules.at(0).thresholds.at(0).value, 9);

    files[1].text = "[[override]]\nid = 'good'\nenabled = false\n";
    EXPECT_TRUE(load_rules(files)->rules.empty());
    files[1].text = "[[override]]\nid = 'goot'\n";
    EXPECT_EQ(load_rules(files)->problems.at(0).hint_text(), "did you mean \"good\"?");
    files[1].text = "[[override]]\nid = 'good'\nthresholds = { cpu = 9 }\n";
    EXPECT_EQ(load_rules(files)->problems.at(0).hint_text(), "did you mean \"cpus\"?");
    files[1].text = kGood;
    EXPECT_THAT(load_rules(files)->problems.at(0).message(), HasSubstr("already, in a.toml"));
}

TEST(findings, names_after_a_dollar_are_put_in_but_not_in_texts) {
    EXPECT_THAT(names_in("a > $b AND c = '$d' AND $b < $e_2"), ElementsAre("b", "e_2"));
    auto value = [](std::string_view name) -> std::optional<std::string> {
        if (name == "b") return number_literal(-0.5);
        return std::nullopt;
    };
    EXPECT_EQ(substitute("x - $b, '$b', $c, $$", value), "x - (-0.5)::DOUBLE, '$b', $c, $$");
}

}  // namespace
}  // namespace belay::findings
