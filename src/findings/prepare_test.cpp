// What the prepared tables make of a record whose clocks and ranks are not as they should be.
#include "findings/cases.h"
#include "findings/catalogue.h"
#include "findings/engine.h"
#include "findings/tables.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace belay::findings {
namespace {

record::Archive job(std::string_view shapes, std::string_view more = "", double seconds = 600) {
    std::string text =
        fmt::format("[[case]]\nrule = 'x'\nname = 'x'\nfires = false\nseconds = {}\nuse = [{}]\n{}", seconds,
                    shapes, more);
    return build_case(parse_cases(text, "t").value().front()).value();
}

// Steps by a clock that begins with the program.
constexpr std::string_view kStepsSince1970 = R"toml(
    [[case.fill]]
    table = 'progress'
    set = { time = "make_timestamp((t * 1e6)::BIGINT)", task = 0, source = "'pattern'", kind = "'train'", step = "i + 1" })toml";

TEST(findings, the_clock_of_a_program_does_not_stretch_the_run) {
    auto archive = job("'host'", kStepsSince1970);
    findings::Run run = prepare(archive, {}).value();
    EXPECT_NEAR(run.seconds(), 600, 1);
    EXPECT_EQ(run.bucket_seconds, 1) << "and not a 600th of half a century";
    EXPECT_NEAR(core::to_seconds(run.steady_start - run.start), 30, 1) << "as without steps";
    EXPECT_EQ(run.rows.at("step_series"), 0);
}

TEST(findings, only_steps_in_the_run_end_the_start_up) {
    auto archive = job("'host', 'steps'", kStepsSince1970);
    findings::Run run = prepare(archive, {}).value();
    EXPECT_NEAR(core::to_seconds(run.steady_start - run.start), 10, 1);
    EXPECT_GT(run.rows.at("step_series"), 0);
}

TEST(findings, without_samples_the_run_is_what_was_told) {
    auto archive = job("'steps'");
    findings::Run run = prepare(archive, {}).value();
    EXPECT_NEAR(run.seconds(), 590, 1);
    EXPECT_GT(run.rows.at("step_series"), 0);
}

// Four ranks of 3 GB, of which the third grows fastest, on a node of 64 GB with 50 GB left.
TEST(findings, the_time_until_a_node_is_full_counts_all_its_ranks) {
    auto archive = job("'host', 'allotment', 'network'", R"toml(
        [[case.fill]]
        table = 'process'
        per_node = 4
        set = { pid = "100 + k", task = "k", command = "'python3'", resident_bytes = "(3e9 + if(k = 2, 5e6, 2e6) * t)::BIGINT" })toml");
    Report report = diagnose(archive, load_rules(builtin_files()).value(), {}).value();
    auto leak = std::ranges::find(report.findings, "host_memory_leak", &Finding::id);
    ASSERT_NE(leak, report.findings.end());
    EXPECT_EQ(leak->entity_count, 1u) << "one node";
    auto evidence = [&](std::string_view name) {
        return record::as_double(std::ranges::find(leak->evidence, name, &Evidence::name)->value);
    };
    EXPECT_NEAR(evidence("bytes_per_second"), 11e6, 1e5);
    EXPECT_NEAR(evidence("left_seconds"), 50e9 / 11e6, 100);
    EXPECT_EQ(evidence("task"), 2);
}

}  // namespace
}  // namespace belay::findings
