#include "bench/analysis/analysis.h"
#include "bench/analysis/runs_for_tests.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace belay::bench {
namespace {

Axis axis_of(double least, double most) {
    return {.label = {}, .unit = {}, .logarithmic = true, .least = least, .most = most};
}

TEST(bench_figures, budget_lines_are_where_the_product_is_the_same) {
    const Axis x = axis_of(10, 1000);
    const Axis y = axis_of(1, 100);
    const auto levels = iso_levels(IsoKind::kProduct, x, y, 60);
    // 10 to 100,000 unit-minutes hold 1 to 1000 unit-hours.
    ASSERT_EQ(levels.size(), 4U);
    EXPECT_DOUBLE_EQ(levels[0].level, 1);
    for (const IsoLevel& one : levels)
        for (const auto& [at_x, at_y] : one.ends) {
            EXPECT_NEAR(at_x * at_y, one.level * 60, 1e-6 * one.level);
            EXPECT_GE(at_x, x.least);
            EXPECT_LE(at_x, x.most);
            EXPECT_GE(at_y, y.least);
            EXPECT_LE(at_y, y.most);
        }
}

TEST(bench_figures, time_lines_are_where_the_ratio_is_the_same) {
    const auto levels = iso_levels(IsoKind::kRatio, axis_of(10, 200), axis_of(1, 20), 1);
    ASSERT_FALSE(levels.empty());
    for (const IsoLevel& one : levels)
        for (const auto& [at_x, at_y] : one.ends) EXPECT_NEAR(at_y / at_x, one.level, 1e-9);
    EXPECT_TRUE(iso_levels(IsoKind::kRatio, axis_of(0, 1), axis_of(1, 2), 1).empty());
    EXPECT_TRUE(iso_levels(IsoKind::kProduct, axis_of(5, 5), axis_of(1, 2), 1).empty());
    EXPECT_TRUE(iso_levels(IsoKind::kProduct, axis_of(1, NAN), axis_of(1, 2), 1).empty());
    EXPECT_TRUE(iso_levels(IsoKind::kProduct, axis_of(1e300, 1e301), axis_of(1e100, 1e101), 1).empty());
}

TEST(bench_figures, a_narrow_window_has_lines_too) {
    EXPECT_GE(iso_levels(IsoKind::kProduct, axis_of(9, 21), axis_of(9, 21), 1).size(), 2U)
        << "100 and 200 of 81 to 441";
}

std::vector<RunInput> two_scales() {
    std::vector<RunInput> inputs;
    for (double nodes : {4.0, 16.0})
        for (int i = 0; i < 5; ++i)
            inputs.push_back(make_run({.nodes = nodes,
                                       .epochs = 10.0 + i,
                                       .epoch_seconds = 400 / nodes * (1 + 0.01 * (i % 3)),
                                       .start = 1e6 * i + 10 * nodes},
                                      "r" + std::to_string(i)));
    return inputs;
}

std::vector<RunInput> runs_elsewhere() {
    return {make_run({.benchmark = "deepcam"}), make_run({.benchmark = "deepcam", .epochs = 12})};
}

TEST(bench_figures, every_figure_has_its_data) {
    auto inputs = two_scales();
    for (size_t i = 0; i < 5; ++i)
        inputs[i].facts.run_start = 1000, inputs[i].facts.run_stop = 2500 + static_cast<double>(i);
    const RooflineRun roofline{.label = "r",
                               .benchmark = "cosmoflow",
                               .ceilings = {{"compute", 100.0}, {"io", 30.0}, {"memory", std::nullopt}},
                               .binds = "io",
                               .attained = 20.0};
    const Analysis analysis =
        analyze_runs(inputs, {.predictions = {{.units = 128.0, .batch = 64.0}}, .rooflines = {roofline}});
    ASSERT_EQ(analysis.figures.size(), 7U);
    for (const Figure& figure : analysis.figures) EXPECT_EQ(figure.missing, "") << figure.id;
    EXPECT_EQ(analysis.figures[2].panels.size(), 5U);
    EXPECT_EQ(analysis.figures[5].bars[0].note, "bound by io");
    EXPECT_EQ(analysis.figures[6].bars.size(), 5U) << "the runs at 4 nodes overlap";
    // 1505 to 1509 seconds; those at the other scale lie a million seconds apart.
    EXPECT_EQ(analysis.figures[6].bars[0].note,
              "5 instances, 25.07 min from the first start to the last stop");
    // Neighbours share an axis.
    const auto& panels = analysis.figures[2].panels;
    EXPECT_EQ(panels[0].x.least, panels[2].x.least);
    EXPECT_EQ(panels[0].y.most, panels[1].y.most);
    EXPECT_EQ(panels[1].x.most, panels[3].x.most);
    EXPECT_EQ(panels[2].y.least, panels[3].y.least);
    for (const Figure& figure : analysis.figures)
        for (const FigurePanel& panel : figure.panels)
            for (const FigurePoint& point : panel.points) {
                EXPECT_GE(point.x, panel.x.least) << panel.id;
                EXPECT_LE(point.x, panel.x.most) << panel.id;
                EXPECT_GE(point.y, panel.y.least) << panel.id;
                EXPECT_LE(point.y, panel.y.most) << panel.id;
            }
    for (const BarRow& row : analysis.figures[1].bars)
        EXPECT_NEAR(row.parts.back().to, 1, 1e-9) << "shares add up";
}

TEST(bench_figures, each_benchmark_has_figures_of_its_own) {
    auto inputs = two_scales();
    for (RunInput& input : runs_elsewhere()) inputs.push_back(std::move(input));
    const Analysis analysis = analyze_runs(inputs, {});
    ASSERT_EQ(analysis.figures.size(), 14U);
    EXPECT_EQ(analysis.figures[0].benchmark, "cosmoflow");
    EXPECT_EQ(analysis.figures[7].benchmark, "deepcam");
    EXPECT_EQ(analysis.figures[1].bars.size(), 2U);
    ASSERT_EQ(analysis.figures[8].bars.size(), 1U);
    EXPECT_EQ(analysis.figures[8].bars[0].system, 2);
}

TEST(bench_figures, iso_time_lines_pass_through_a_system_with_that_time) {
    const Analysis analysis = analyze_runs(two_scales(), {});
    const FigurePanel& panel = analysis.figures[2].panels[3];
    ASSERT_EQ(panel.id, "epochs_throughput");
    size_t lines = 0;
    for (const FigureLine& line : panel.lines) {
        if (line.kind != "iso") continue;
        ++lines;
        const double minutes = std::stod(line.label);
        for (const auto& [epochs, rate] : line.points)
            EXPECT_NEAR(epochs / rate, minutes, minutes * 1e-6) << line.label;
    }
    EXPECT_GE(lines, 2U);
}

TEST(bench_tables, csv_quotes_what_would_end_a_cell) {
    auto inputs = two_scales();
    for (RunInput& input : inputs) input.system = "a \"b\", c\n";
    const Analysis analysis = analyze_runs(inputs, {});
    const std::string csv = systems_csv(analysis);
    EXPECT_NE(csv.find("\n\"a \"\"b\"\", c?\","), csv.npos) << csv;
    EXPECT_EQ(std::ranges::count(csv, '\n'), 3) << "a heading and two systems";
    const auto files = all_csv(analysis);
    ASSERT_EQ(files.size(), 11U);
    EXPECT_EQ(files[4].first, "cosmoflow_1_time_against_units.csv");
    EXPECT_EQ(figure_file_name({.number = 2, .benchmark = "../x", .id = "shares"}), "___x_2_shares");
    EXPECT_EQ(std::ranges::count(runs_csv(analysis), '\n'), 11);
}

TEST(bench_tables, csv_has_one_cell_for_a_list_whatever_is_in_it) {
    Analysis analysis;
    analysis.predictions.push_back(
        {.benchmark = "cosmoflow", .notes = {"batch 8, units 9", "\"far\" outside"}});
    const std::string csv = predictions_csv(analysis);
    EXPECT_TRUE(csv.ends_with(",\"batch 8, units 9; \"\"far\"\" outside\"\n")) << csv;
}

TEST(bench_tables, json_says_unknown_as_null) {
    auto inputs = two_scales();
    for (RunInput& input : inputs) input.facts.staging_seconds.reset();
    const auto json = to_json(analyze_runs(inputs, {}), true);
    EXPECT_TRUE(json["systems"][0]["staging_seconds"].is_null());
    EXPECT_EQ(json["systems"][0]["runs_counted"], 3);
    EXPECT_EQ(json["systems"].size(), 2U);
    EXPECT_TRUE(json["systems"][0]["run_list"][0].contains("records"));
    EXPECT_FALSE(to_json(analyze_runs(inputs, {}))["systems"][0]["run_list"][0].contains("records"));
    EXPECT_EQ(json["figures"].size(), 7U);
}

// What the command really prints is read in cli/bench_roofline_test.cpp.
TEST(bench_tables, rooflines_are_read_with_what_is_around_them_and_alone) {
    const auto run = nlohmann::ordered_json::parse(
        R"({"run":"a.txt","benchmark":"cosmoflow","binds":"io","samples_per_second_of_rank":20,"ceilings":[{"resource":"io","samples_per_second":30},{"resource":"memory","samples_per_second":null}]})");
    const auto wrong = nlohmann::ordered_json::parse(R"([7, {"ceilings":3}, {}])");
    auto several = wrong;
    several.push_back(run);
    for (const nlohmann::ordered_json& json :
         {nlohmann::ordered_json{{"machine", nullptr}, {"runs", several}}, several, run}) {
        const auto runs = read_rooflines(json);
        ASSERT_EQ(runs.size(), 1U) << json;
        EXPECT_EQ(runs[0].binds, "io");
        EXPECT_EQ(runs[0].attained, 20.0);
        EXPECT_EQ(runs[0].ceilings[0].samples_per_second, 30.0);
        EXPECT_FALSE(runs[0].ceilings[1].samples_per_second);
    }
    EXPECT_TRUE(read_rooflines(wrong).empty());
    EXPECT_TRUE(read_rooflines({{"machine", nullptr}, {"runs", 3}}).empty());
    EXPECT_TRUE(read_rooflines("runs").empty());
}

}  // namespace
}  // namespace belay::bench
