// What the prepared tables make of a record whose clocks and ranks are not as they should be.
#include "findings/prepare.h"

#include "findings/cases.h"
#include "findings/catalogue.h"
#include "findings/engine.h"
#include "findings/prepared_tables.h"

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

TEST(findings, traffic_that_several_interfaces_count_is_counted_once) {
    auto archive = job("'host'", R"toml(
        [[case.fill]]
        table = 'network'
        per_node = 6
        set = { device = "['eth0', 'eth1', 'bond0', 'br0', 'lo', 'bond0.7'][k + 1]", counted_elsewhere = "if(n = 0, k >= 2, NULL)", receive_bytes_total = "(i * if(k < 2, 1e6, 2e6))::BIGINT", transmit_bytes_total = "0" })toml");
    ASSERT_TRUE(prepare(archive, {}));
    auto answer =
        archive
            .query(
                "SELECT node, min(network_bytes_per_second), max(network_bytes_per_second) FROM node_series "
                "WHERE network_bytes_per_second IS NOT NULL GROUP BY node ORDER BY node")
            .value();
    ASSERT_FALSE(answer.rows.empty());
    for (const auto& row : answer.rows) {
        EXPECT_NEAR(record::as_double(row[1]), 2e6, 1) << record::as_text(row[0]) << ": eth0 + eth1 = bond0";
        EXPECT_NEAR(record::as_double(row[2]), 2e6, 1);
    }
}

TEST(findings, the_coverage_that_counts_for_a_table_is_that_of_its_source) {
    EXPECT_EQ(tables_behind({"job_series", "gpu_summary", "gpu", "task_series", "node_series", "host_series",
                             "disk_series", "network_series"}),
              (std::vector<std::string>{"gpu", "process", "host", "filesystem", "network"}));
    EXPECT_TRUE(tables_behind({"event", "step_series", "node_allotment", "nothing"}).empty());
}

TEST(findings, cpus_that_a_node_uses_are_all_but_idle_ones) {
    auto archive = job("", R"toml(
        [[case.fill]]
        table = 'host'
        set = { cpu_count = 4, cpu_user_seconds_total = "1.0 * t", cpu_system_seconds_total = "0.5 * t", cpu_irq_seconds_total = "0.25 * t", cpu_steal_seconds_total = "0.125 * t", cpu_iowait_seconds_total = "1.0 * t" })toml");
    ASSERT_TRUE(prepare(archive, {}));
    auto used =
        archive.query("SELECT min(cpus_used), max(cpus_used), max(node_cpu_share) FROM node_series").value();
    EXPECT_NEAR(record::as_double(used.rows.at(0)[0]), 1.875, 1e-9);
    EXPECT_NEAR(record::as_double(used.rows.at(0)[1]), 1.875, 1e-9);
    EXPECT_NEAR(record::as_double(used.rows.at(0)[2]), 1.875 / 4, 1e-9);
}

bool is_found(record::Archive& archive, std::string_view id) {
    Report report = diagnose(archive, load_rules(builtin_files()).value(), {}).value();
    return std::ranges::find(report.findings, id, &Finding::id) != report.findings.end();
}

// An epoch of 100 steps, a second each, and so on.
TEST(findings, steps_that_are_counted_anew_in_each_epoch_are_counted_on) {
    constexpr std::string_view kEpochs = R"toml(
        [[case.fill]]
        table = 'progress'
        to = {}
        set = {{ task = 0, source = "'pattern'", kind = "'train'", step = "i % 100 + 1", epoch = "i // 100" }})toml";
    auto healthy = job("'host', 'allotment', 'ranks', 'network'", fmt::format(kEpochs, 600));
    ASSERT_TRUE(prepare(healthy, {}));
    auto steps =
        healthy
            .query(
                "SELECT max(step), count(*), max(gap_seconds), min(step_seconds), max(step_seconds) FROM "
                "step_series WHERE node = 'n0'")
            .value();
    EXPECT_EQ(record::as_double(steps.rows[0][0]), 601);
    EXPECT_EQ(record::as_double(steps.rows[0][1]), 601);
    for (size_t i : {2, 3, 4}) EXPECT_NEAR(record::as_double(steps.rows[0][i]), 1, 1e-6);
    auto again = job("'host', 'allotment', 'ranks', 'network'", fmt::format(kEpochs, 600));
    EXPECT_FALSE(is_found(again, "hang")) << "it trains to its end";
}

// A rank that goes on from a checkpoint, and one whose lines come out of order, do not begin anew.
TEST(findings, steps_that_go_back_a_little_are_the_same_steps) {
    auto archive = job("'host'", R"toml(
        [[case.fill]]
        table = 'progress'
        set = { task = 0, source = "'pattern'", kind = "'train'", step = "if(i > 300, i - 50, i + if(i % 2 = 0, 1, -1)) + 100" })toml");
    ASSERT_TRUE(prepare(archive, {}));
    auto steps = archive.query("SELECT max(step) FROM step_series WHERE node = 'n0'").value();
    EXPECT_EQ(record::as_double(steps.rows[0][0]), 650);
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

// A shell that starts one program after the other, each of which takes one CPU for 100 s.
TEST(findings, what_short_processes_did_adds_up) {
    auto archive = job("'host', 'allotment'", R"toml(
        [[case.fill]]
        table = 'process'
        from = 1
        set = { pid = "100 + (t - 1)::BIGINT // 100", task = 0, command = "'step'", start_time = "make_timestamp(1767225600000000 + ((t - 1)::BIGINT // 100) * 100000000)", cpu_user_seconds_total = "(t - 1) % 100 + 1", cpu_system_seconds_total = 0 }
        [[case.fill]]
        table = 'process'
        set = { pid = 99, task = 0, command = "'sh'", cpu_user_seconds_total = 0, cpu_system_seconds_total = 0 })toml",
                       43200);
    findings::Run run = prepare(archive, {}).value();
    EXPECT_EQ(run.bucket_seconds, 72);
    auto used = archive.query(
        "SELECT median(cpus) FROM (SELECT time, sum(cpus_used) AS "
        "cpus FROM process_series WHERE time < (SELECT max(time) FROM process_series) "
        "GROUP BY time)");
    ASSERT_TRUE(used) << used.error().message();
    EXPECT_NEAR(record::as_double(used->rows.at(0)[0]), 1, 0.03);
}

// 440,000 lines of steps 1, 11, 21 ...: of these some are taken, whatever their numbers.
TEST(findings, of_very_many_steps_some_are_taken_evenly) {
    auto archive = job("'host'", R"toml(
        [[case.fill]]
        table = 'progress'
        per_node = 10
        set = { task = "k", source = "'pattern'", kind = "'train'", step = "i * 10 + 1" })toml",
                       44000);
    findings::Run run = prepare(archive, {}).value();
    EXPECT_NEAR(core::to_seconds(run.steady_start - run.start), 0, 2);
    EXPECT_GT(run.rows.at("step_series"), 200'000);
    EXPECT_LT(run.rows.at("step_series"), 250'000);
    auto length = archive.query("SELECT median(step_seconds) FROM step_series");
    EXPECT_NEAR(record::as_double(length.value().rows.at(0)[0]), 0.1, 1e-6) << "of a step, not of ten";
}

}  // namespace
}  // namespace belay::findings
