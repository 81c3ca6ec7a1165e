#include "vet/verdict.h"

#include "core/json.h"
#include "vet/verdict_json.h"
#include "vet/verdict_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::vet {
namespace {

using testing::ElementsAre;

CheckResult check(Status status, Severity severity = Severity::kEssential) {
    return {.name = "c", .type = "mem.free", .status = status, .severity = severity};
}

TEST(vet, node_verdict_is_the_worst_essential_one) {
    using enum Status;
    EXPECT_EQ(node_verdict(std::vector{check(kPass), check(kUnsupported)}), kUnsupported);
    EXPECT_EQ(node_verdict(std::vector{check(kUnsupported), check(kFail), check(kPass)}), kFail);
    EXPECT_EQ(node_verdict(std::vector{check(kError), check(kFail)}), kError);
    EXPECT_EQ(node_verdict(std::vector{check(kMissing), check(kError)}), kMissing);
    EXPECT_EQ(node_verdict(std::vector{check(kPass), check(kFail, Severity::kWarning)}), kPass);
    EXPECT_EQ(node_verdict({}), kError) << "no expected check";
}

TEST(vet, all_nodes_or_as_many_as_needed) {
    std::vector<NodeVerdict> nodes{{.node = "n1", .checks = {check(Status::kPass)}},
                                   {.node = "n2", .checks = {check(Status::kUnsupported)}},
                                   {.node = "n3", .checks = {check(Status::kPass)}}};
    Verdicts all = judge("p", nodes, {});
    EXPECT_FALSE(all.passed);
    EXPECT_EQ(all.exit_status(), 1);
    EXPECT_THAT(all.vetted, ElementsAre("n1", "n3"));
    EXPECT_THAT(all.cordoned, ElementsAre("n2"));
    EXPECT_TRUE(judge("p", nodes, 2).passed);
    EXPECT_FALSE(judge("p", nodes, 3).passed);
    EXPECT_FALSE(judge("p", {}, {}).passed) << "nobody was vetted";
    EXPECT_FALSE(judge("p", {}, 0).passed);
    EXPECT_EQ(host_file(all.vetted), "n1\nn3\n");
}

// However little its checks count.
TEST(vet, node_that_was_not_heard_is_not_fit) {
    NodeVerdict silent{.node = "n1",
                       .checks = {check(Status::kMissing, Severity::kWarning)},
                       .report = Status::kMissing,
                       .report_problem = core::system_error("no report within 3s").error()};
    NodeVerdict other = silent;
    other.node = "n2";
    other.report = Status::kError;
    other.report_problem = core::system_error("p.yaml has different contents on that node").error();
    NodeVerdict warned{.node = "n3", .checks = {check(Status::kMissing, Severity::kWarning)}};
    Verdicts verdicts = judge("p", {silent, other, warned}, {});
    EXPECT_FALSE(verdicts.passed);
    EXPECT_EQ(verdicts.nodes[0].verdict, Status::kMissing);
    EXPECT_EQ(verdicts.nodes[1].verdict, Status::kError);
    EXPECT_THAT(verdicts.vetted, ElementsAre("n3"));
    EXPECT_THAT(refusals(verdicts), ElementsAre("n1: missing: no report within 3s",
                                                "n2: error: p.yaml has different contents on that node"));
    auto back = verdicts_from_json(to_json(verdicts));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(refusals(*back), refusals(verdicts));
    silent.checks = {check(Status::kMissing), check(Status::kFail)};
    silent.checks[0].reason = "as its report";
    silent.checks[1].reason = "3 GiB available";
    EXPECT_THAT(refusals(judge("p", {silent}, {})),
                ElementsAre("n1: missing: no report within 3s", "n1: c (mem.free): fail: 3 GiB available"))
        << "why there is no result is said once";
}

TEST(vet, early_stop_needs_certainty) {
    EXPECT_TRUE(can_still_pass(1, 1, 2));
    EXPECT_FALSE(can_still_pass(1, 0, 2));
    Verdicts verdicts{.stopped_early = true};
    EXPECT_EQ(verdicts.exit_status(), 4);
}

TEST(vet, warnings_name_node_check_and_value) {
    Verdicts verdicts;
    CheckResult check{.name = "memory", .status = Status::kFail, .severity = Severity::kWarning};
    check.type = "mem.free";
    check.reason = "1 GiB available";
    verdicts.nodes = {{.node = "n1", .verdict = Status::kPass, .checks = {check}},
                      {.node = "n2", .verdict = Status::kPass, .checks = {check}}};
    EXPECT_THAT(warnings(verdicts), ElementsAre(testing::AllOf(testing::StartsWith("n[1-2]: warning: memory"),
                                                               testing::HasSubstr("1 GiB available"))));
    EXPECT_TRUE(refusals(verdicts).empty());
    verdicts.nodes[0].checks[0].status = verdicts.nodes[1].checks[0].status = Status::kPass;
    EXPECT_TRUE(warnings(verdicts).empty());
}

TEST(vet, refusals_name_node_check_and_value) {
    auto low = [](std::string node) {
        CheckResult memory{.name = "memory",
                           .type = "mem.free",
                           .status = Status::kFail,
                           .reason = "3 GiB available, 64 GiB wanted"};
        return NodeVerdict{.node = std::move(node), .checks = {memory, check(Status::kPass)}};
    };
    NodeVerdict warned{.node = "n4", .checks = {check(Status::kFail, Severity::kWarning)}};
    NodeVerdict other{.node = "n5", .checks = {check(Status::kMissing)}};
    other.checks[0].reason = "no report\x1b[2J";
    Verdicts verdicts = judge("p", {low("n2"), low("n3"), warned, other, {.node = "n6"}}, {});
    EXPECT_EQ(summary(verdicts), "p: fail: 1 of 5 nodes are fit; not fit: n[2-3,5-6]");
    EXPECT_THAT(refusals(verdicts),
                ElementsAre("n[2-3]: memory (mem.free): fail: 3 GiB available, 64 GiB wanted",
                            "n5: c (mem.free): missing: no report?[2J", "n6: no check was expected of it"));
    EXPECT_THAT(refusals(verdicts, 1), ElementsAre(testing::HasSubstr("n[2-3]"), "and 2 more causes"));
    EXPECT_EQ(value_text({.value = 2048, .unit = "bytes"}), "2.00 KiB");
    EXPECT_EQ(value_text({}), "-");
}

TEST(vet, verdicts_as_the_contract_says) {
    NodeVerdict node{.node = "n1"};
    node.checks.push_back({.name = "memory",
                           .type = "mem.free",
                           .status = Status::kFail,
                           .value = 5,
                           .unit = "bytes",
                           .limit = 7,
                           .reason = "too little",
                           .seconds = 0.5});
    node.checks.push_back(check(Status::kPass, Severity::kWarning));
    Verdicts verdicts = judge("p", {node}, {});
    nlohmann::json json = to_json(verdicts);
    EXPECT_EQ(json["protocol"], "p");
    EXPECT_EQ(json["verdict"], "fail");
    EXPECT_EQ(json["cordoned"], nlohmann::json::array({"n1"}));
    EXPECT_EQ(json["vetted"], nlohmann::json::array());
    EXPECT_EQ(json["nodes"][0]["node"], "n1");
    EXPECT_EQ(json["nodes"][0]["verdict"], "fail");
    nlohmann::json wanted = {{"name", "memory"},        {"type", "mem.free"}, {"status", "fail"},
                             {"severity", "essential"}, {"device", nullptr},  {"value", 5.0},
                             {"unit", "bytes"},         {"limit", 7.0},       {"reason", "too little"},
                             {"seconds", 0.5}};
    EXPECT_EQ(json["nodes"][0]["checks"][0], wanted);
    EXPECT_EQ(json["nodes"][0]["checks"][1]["severity"], "warning");
    EXPECT_EQ(json["nodes"][0]["checks"][1]["value"], nullptr);
    auto back = verdicts_from_json(json);
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(to_json(*back), json);
}

TEST(vet, verdicts_of_another_node_are_not_believed_blindly) {
    for (const char* text :
         {"[]", "{}", R"({"nodes":[5]})", R"({"nodes":[],"vetted":[1],"cordoned":[]})",
          R"({"nodes":[{"node":"n","verdict":"great","checks":[]}],"vetted":[],"cordoned":[]})",
          R"({"nodes":[{"node":"n","verdict":"pass","checks":[{"status":7}]}],"vetted":[],"cordoned":[]})"})
        EXPECT_FALSE(verdicts_from_json(core::parse_json(text))) << text;
}

}  // namespace
}  // namespace belay::vet
