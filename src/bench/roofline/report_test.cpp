#include "bench/roofline/report.h"

#include "bench/roofline/figure.h"
#include "core/json.h"

#include <gtest/gtest.h>

namespace belay::bench::roofline {
namespace {

using nlohmann::ordered_json;

// 4 ranks on 1 node, 8 samples a step, 200 samples/s: 50 on each rank.
RunFacts run_facts() {
    return {.source = "run.log",
            .benchmark = "cosmoflow",
            .samples_per_second = 200,
            .ranks = 4,
            .nodes = 1,
            .global_batch = 8,
            .train_samples = 900,
            .eval_samples = 100,
            .flops = {.value = 1e9},
            .parameter_bytes = {.value = 1e6},
            .step_seconds = 0.04,
            .data_wait_seconds = 0.01,
            .exposed_communication_seconds = 0.001};
}

MeasuredMachine measured_machine() {
    return {.machine = {.rates = {Number{.value = 1e11, .source = "GEMM"},
                                  Number{.value = 1e10, .source = "STREAM"},
                                  Number{.value = 1.5e8, .source = "all-reduce"}, Number{}}},
            .ranks = 4};
}

TEST(roofline_report, numbers_come_from_who_knows_best) {
    Moved moved;
    moved.vetted.rate(Resource::kCompute) = {.value = 7e10, .source = "vetting"};
    moved.vetted.rate(Resource::kIo) = {.value = 5e6, .source = "vetting"};
    Given given;
    given.rates.rate(Resource::kMemory) = {.value = 2e10, .source = "given"};
    given.memory_bytes = 1e8;
    const auto report = report_on(run_facts(), measured_machine(), given, moved).value();
    const Machine& machine = report.analysis.machine;
    EXPECT_EQ(machine.rate(Resource::kCompute).source, "GEMM");
    EXPECT_EQ(machine.rate(Resource::kMemory).source, "given");
    EXPECT_EQ(machine.rate(Resource::kIo).source, "vetting");
    // 100, 200, 1.5e8 / (1.5·1e6/2) = 200 samples/s.
    EXPECT_EQ(report.analysis.binds, Resource::kCompute);
    EXPECT_DOUBLE_EQ(*report.analysis.share(), 0.5);
    EXPECT_DOUBLE_EQ(report.analysis.ceiling(Resource::kNetwork).samples_per_second, 200);
}

TEST(roofline_report, a_record_adds_what_was_really_moved) {
    // 10 s at 200 samples/s are 2,000 samples.
    Moved moved{.seconds = 10, .storage_bytes = 4e6, .network_bytes = 2e9, .memory_active = 0.25};
    const auto report = report_on(run_facts(), measured_machine(), {}, moved).value();
    EXPECT_DOUBLE_EQ(*report.analysis.workload.io_bytes.value, 2000);
    // A quarter of 10 GB/s, at 50 samples/s.
    EXPECT_DOUBLE_EQ(*report.analysis.workload.memory_bytes.value, 5e7);
    bool is_said = false;
    for (const std::string& note : report.analysis.notes)
        is_said = is_said || note.find("the nodes sent 1.00 MB per sample") != std::string::npos;
    EXPECT_TRUE(is_said);
}

TEST(roofline_report, waits_of_the_run_are_said_where_they_matter) {
    const auto report = report_on(run_facts(), std::nullopt, {}, std::nullopt).value();
    std::string all;
    for (const std::string& note : report.analysis.notes) all += note + "\n";
    EXPECT_NE(all.find("waited for data for 25 % of each step"), std::string::npos);
    EXPECT_EQ(all.find("waited for other ranks"), std::string::npos);
    // And what would give what is missing.
    EXPECT_NE(all.find("network: no ceiling is known without B_n: measure it with --measure in a step"),
              std::string::npos);
}

TEST(roofline_report, another_number_of_ranks_than_was_measured_is_said) {
    MeasuredMachine two = measured_machine();
    two.ranks = 2;
    const auto report = report_on(run_facts(), two, {}, std::nullopt).value();
    EXPECT_EQ(report.analysis.notes.back(), "the machine was measured with 2 ranks, and the run had 4");
}

TEST(roofline_report, stored_bytes_of_a_sample) {
    EXPECT_DOUBLE_EQ(*stored_bytes_of_sample(5e6, run_facts()).value, 5000);
    EXPECT_FALSE(stored_bytes_of_sample(5e6, {}).value);
}

TEST(roofline_report, a_number_that_cannot_be_is_refused_with_the_run) {
    Given given;
    given.flops = -1;
    const auto refused = report_on(run_facts(), std::nullopt, given, std::nullopt);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(), "run.log: FLOP of a sample cannot be -1");
}

TEST(roofline_report, json_says_null_for_what_is_not_known) {
    const auto json = to_json(report_on(run_facts(), measured_machine(), {}, std::nullopt).value());
    EXPECT_EQ(json["binds"], "compute");
    EXPECT_EQ(json["share"], 0.5);
    EXPECT_EQ(json["certain"], false);
    EXPECT_EQ(json["may_bind"], (ordered_json{"memory", "io"}));
    ASSERT_EQ(json["ceilings"].size(), 4U);
    const ordered_json& memory = json["ceilings"][1];
    EXPECT_EQ(memory["state"], "unknown");
    EXPECT_TRUE(memory["samples_per_second"].is_null());
    EXPECT_TRUE(memory["high"].is_null());
    EXPECT_EQ(memory["rate"]["value"], 1e10);
    EXPECT_EQ(json["ceilings"][2]["flop_per_byte"], 1e9 / 7.5e5);
    // Nothing known is valid JSON as well.
    EXPECT_TRUE(to_json(report_on({}, std::nullopt, {}, std::nullopt).value())["binds"].is_null());
}

TEST(roofline_machine, reads_back_what_it_writes) {
    MeasuredMachine machine = measured_machine();
    machine.nodes = 2, machine.threads = 3;
    machine.machine.rate(Resource::kMemory).sense = Sense::kAtLeast;
    machine.all_reduce = {.bytes = 1000, .repeats = 5, .seconds = 0.25, .median_seconds = 0.5};
    const auto read = parse_machine(to_json(machine).dump(), "m.json").value();
    EXPECT_EQ(read.machine, machine.machine);
    EXPECT_EQ(read.ranks, 4);
    EXPECT_EQ(read.nodes, 2);
    EXPECT_EQ(read.threads, 3);
    EXPECT_EQ(read.all_reduce->bytes, 1000U);
    EXPECT_EQ(read.all_reduce->median_seconds, 0.5);
    // Of which nothing is known: as of an all-reduce alone.
    EXPECT_TRUE(parse_machine(to_json(MeasuredMachine()).dump(), "m.json"));
}

TEST(roofline_machine, what_is_none_is_refused_with_the_file) {
    const std::string schema = R"("schema":"belay-roofline-machine-1")";
    for (const std::string& text :
         {std::string("{"), std::string("[]"), std::string("null"), std::string(R"({"schema":"other"})"),
          "{" + schema + R"(,"ranks":0})", "{" + schema + R"(,"ranks":1.5})",
          "{" + schema + R"(,"ranks":"4"})", "{" + schema + R"(,"rates":{"io":{"value":-1}}})",
          "{" + schema + R"(,"rates":{"io":{"value":"fast"}}})",
          "{" + schema + R"(,"rates":{"io":{"value":1,"sense":"maybe"}}})"}) {
        const auto refused = parse_machine(text, "m.json");
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput) << text;
        EXPECT_EQ(refused.error().headline().rfind("m.json:", 0), 0U) << refused.error().headline();
    }
    // Rates that are null, absent or of another resource are not known.
    EXPECT_TRUE(parse_machine("{" + schema + R"(,"rates":{"io":null,"disk":3}})", "m.json"));
    EXPECT_TRUE(parse_machine("{" + schema + R"(,"rates":[1]})", "m.json"));
}

TEST(roofline_machine, bus_bandwidth_as_nccl_tests_define_it) {
    // An all-reduce of 1 GB over 4 ranks in 1 s: 1.5 GB/s.
    EXPECT_DOUBLE_EQ(bus_bandwidth(1e9, 1, 4), 1.5e9);
    EXPECT_DOUBLE_EQ(bus_bandwidth(1e9, 0.5, 2), 2e9);
}

Analysis drawn(std::string name) {
    RunFacts facts = run_facts();
    facts.benchmark = std::move(name);
    Given given;
    given.memory_bytes = 1e7;
    return report_on(facts, measured_machine(), given, std::nullopt).value().analysis;
}

TEST(roofline_figure, has_a_point_for_each_known_ceiling) {
    const auto runs = figure_of(std::vector{drawn("cosmoflow")});
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_DOUBLE_EQ(runs[0].flops_per_second, 50e9);
    EXPECT_DOUBLE_EQ(*runs[0].peak, 1e11);
    EXPECT_DOUBLE_EQ(runs[0].bound, 1e11);
    ASSERT_EQ(runs[0].points.size(), 2U);
    EXPECT_EQ(runs[0].points[0].resource, Resource::kMemory);
    EXPECT_DOUBLE_EQ(runs[0].points[0].intensity, 100);
    EXPECT_DOUBLE_EQ(runs[0].points[0].roof, 1e12);
    EXPECT_EQ(runs[0].points[1].resource, Resource::kNetwork);
    // Without a throughput, or FLOP, there is nothing to draw.
    EXPECT_TRUE(figure_of(std::vector{analyze({}, {}, std::nullopt).value()}).empty());
}

TEST(roofline_figure, csv_has_a_row_for_each_roof_of_a_run) {
    const auto runs = figure_of(std::vector{drawn("a \"b\",c")});
    EXPECT_EQ(figure_csv(runs),
              "run,resource,flop_per_byte,flops_per_second,roof_flops_per_second,binds\n"
              "\"a \"\"b\"\",c\",compute,,50000000000,100000000000,1\n"
              "\"a \"\"b\"\",c\",memory,100,50000000000,1000000000000,0\n"
              "\"a \"\"b\"\",c\",network,1333.3333333333333,50000000000,200000000000,0\n");
}

TEST(roofline_figure, svg_is_whole_and_takes_names_as_text) {
    const auto runs = figure_of(std::vector{drawn("<script>alert(1)</script>"), drawn("cosmoflow")});
    const std::string svg = figure_svg(runs);
    EXPECT_EQ(svg.rfind("<svg ", 0), 0U);
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_NE(svg.find("&lt;script&gt;"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    EXPECT_NE(svg.find("cosmoflow: compute?, 50 %"), std::string::npos);
    EXPECT_NE(figure_svg({}).find("no run with a throughput"), std::string::npos);
}

}  // namespace
}  // namespace belay::bench::roofline
