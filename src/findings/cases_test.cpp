// Every case beside the rules that come with Belay is a test of its own: findings_case.RULE__NAME.
#include "findings/cases.h"

#include "findings/catalogue.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::findings {
namespace {

const RuleSet& rules() {
    static const RuleSet set = load_rules(builtin_files()).value();
    return set;
}

class CaseTest : public testing::Test {
  public:
    explicit CaseTest(Case spec) : spec_(std::move(spec)) {}
    void TestBody() override {
        auto result = run_case(spec_, rules());
        ASSERT_TRUE(result) << result.error().render();
        EXPECT_TRUE(result->passed) << result->why;
    }

  private:
    Case spec_;
};

// Errors of reading show where a test is that cannot pass.
const bool kRegistered = [] {
    auto cases = load_cases(BELAY_RULES_DIRECTORY);
    if (!cases) {
        fmt::print(stderr, "{}", cases.error().render());
        return false;
    }
    for (const Case& spec : *cases)
        testing::RegisterTest("findings_case", fmt::format("{}__{}", spec.rule, spec.name).c_str(), nullptr,
                              nullptr, __FILE__, __LINE__,
                              [spec]() -> testing::Test* { return new CaseTest(spec); });
    return true;
}();

TEST(findings, every_rule_has_a_case_that_fires_and_two_that_must_not) {
    ASSERT_TRUE(kRegistered);
    auto cases = load_cases(BELAY_RULES_DIRECTORY);
    ASSERT_TRUE(cases) << cases.error().render();
    for (const Rule& rule : rules().rules) {
        auto count = [&](bool fires) {
            return std::ranges::count_if(
                *cases, [&](const Case& spec) { return spec.rule == rule.id && spec.fires == fires; });
        };
        EXPECT_GE(count(true), 1) << rule.id;
        EXPECT_GE(count(false), 2) << rule.id;
    }
}

TEST(findings, the_rules_that_come_with_belay_are_right) {
    for (const core::Error& problem : rules().problems) ADD_FAILURE() << problem.render();
    EXPECT_GE(rules().rules.size(), 18u);
    for (const Rule& rule : rules().rules) {
        EXPECT_FALSE(rule.advice.empty()) << rule.id;
        EXPECT_FALSE(rule.summary.empty()) << rule.id;
        EXPECT_FALSE(rule.thresholds.empty()) << rule.id;
        for (const std::string& explained : rule.explains)
            EXPECT_NE(std::ranges::find(rules().rules, explained, &Rule::id), rules().rules.end())
                << rule.id << " explains " << explained;
    }
}

TEST(findings, a_case_says_where_it_is_wrong) {
    auto wrong = parse_cases("[[case]]\nrule = \"a\"\nname = \"b\"\nfires = 1\n", "x.cases.toml");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().position()->line, 1);
    for (const char* keys : {"fires=true\nseverity=\"bad\"", "fires=false\nseverity=\"info\""})
        EXPECT_FALSE(
            parse_cases(fmt::format("[[case]]\nrule=\"a\"\nname=\"b\"\n{}\nuse=[\"host\"]\n", keys), "x"))
            << keys;
    EXPECT_FALSE(parse_cases("[[case]]\nrule=\"a\"\nname=\"b\"\nfires=true\nuse=[\"nothing\"]\n", "x"));
    EXPECT_FALSE(parse_cases(
        "[[case]]\nrule=\"a\"\nname=\"b\"\nfires=true\n[[case.fill]]\ntable=\"host; DROP\"\n", "x"));
    auto spec = parse_cases(
        "[[case]]\nrule=\"hang\"\nname=\"b\"\nfires=true\n[[case.fill]]\ntable=\"host\"\nset={no_column=1}\n",
        "x");
    ASSERT_TRUE(spec);
    auto built = run_case(spec->front(), rules());
    ASSERT_FALSE(built);
    EXPECT_EQ(built.error().position()->line, 5);
}

}  // namespace
}  // namespace belay::findings
