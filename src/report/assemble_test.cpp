#include "report/charts.h"
#include "report/describe.h"
#include "report/testing/synthetic.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::report {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> ids(const std::vector<Chart>& charts) {
    std::vector<std::string> result;
    for (const Chart& chart : charts) result.push_back(chart.id);
    return result;
}

const Chart& chart_of(const ReportModel& model, std::string_view id) {
    return *std::ranges::find(model.charts, id, &Chart::id);
}

TEST(report, a_training_has_all_charts) {
    ReportModel model = assemble(synthetic_training());
    EXPECT_THAT(ids(model.charts),
                ElementsAre("throughput", "loss", "metric", "learning_rate", "job_cpu", "pressure", "cpu_0",
                            "cpu_1", "job_memory", "node_memory", "network", "loopback", "disk", "job_io"));
    EXPECT_EQ(chart_of(model, "metric").target->value, 0.13);
    EXPECT_EQ(chart_of(model, "metric").kind, ChartKind::kPoints);
    const Chart& network = chart_of(model, "network");
    ASSERT_EQ(network.series.size(), 4U);
    EXPECT_FALSE(network.series[0].below);
    EXPECT_TRUE(network.series[2].below);
    EXPECT_EQ(network.series[1].colour, network.series[3].colour) << "a node keeps its colour";
    EXPECT_TRUE(network.series[3].dashed) << "and what it sent is told from what it received";
}

TEST(report, a_quantity_has_one_mean) {
    const Measurements data = synthetic_training();
    const ReportModel model = assemble(data);
    EXPECT_DOUBLE_EQ(chart_of(model, "throughput").series[0].mean, model.training->throughput_mean);
    for (const char* id : {"job_cpu", "job_memory"}) {
        const auto& metric = *std::ranges::find(model.grid.metrics, id, &NodeMetric::id);
        for (size_t node = 0; node < 2; ++node)
            EXPECT_DOUBLE_EQ(chart_of(model, id).series[node].mean, metric.means[node]) << id;
    }
    EXPECT_DOUBLE_EQ(chart_of(model, "cpu_1").series[0].mean, data[node_plot("cpu_user_share")].means[1]);
    EXPECT_TRUE(is_missing(chart_of(model, "pressure").series[0].mean)) << "of the worst node at each moment";
}

TEST(report, a_gap_stays_a_gap_in_every_chart_of_the_node) {
    ReportModel model = assemble(synthetic_training());
    for (const Chart& chart : model.charts)
        for (const Curve& series : chart.series)
            if (series.node == "nid001002") {
                EXPECT_TRUE(is_missing(series.values[97])) << chart.id;
                EXPECT_FALSE(is_missing(series.values[94])) << chart.id;
            }
}

TEST(report, many_nodes_become_a_band) {
    ReportModel model = assemble(synthetic_large(40));
    const Chart& cpu = chart_of(model, "job_cpu");
    EXPECT_EQ(cpu.kind, ChartKind::kBand);
    ASSERT_EQ(cpu.series.size(), 3U);
    for (size_t i = 0; i < cpu.seconds.size(); ++i) {
        EXPECT_LE(cpu.series[0].values[i], cpu.series[1].values[i]);
        EXPECT_LE(cpu.series[1].values[i], cpu.series[2].values[i]);
    }
    EXPECT_LT(cpu.series[0].values.back(), 0.6) << "the slow node";
    EXPECT_EQ(model.grid.metrics.at(0).values.size(), 40 * model.grid.bins);
    EXPECT_THAT(ids(model.charts), Contains("cpu_mean"));
}

TEST(report, no_two_lines_of_a_chart_look_alike) {
    for (const Measurements& data :
         {synthetic_training(), synthetic_bare(), synthetic_large(40), synthetic_large(6)})
        for (const Chart& chart : assemble(data).charts)
            for (size_t i = 0; i < chart.series.size(); ++i)
                for (size_t j = 0; j < i; ++j) {
                    const Curve& a = chart.series[i];
                    const Curve& b = chart.series[j];
                    const bool edges = chart.kind == ChartKind::kBand && i == j + 2;  // of one area
                    EXPECT_TRUE(edges || a.colour != b.colour || a.dashed != b.dashed)
                        << chart.id << ": " << a.label << " and " << b.label;
                }
}

TEST(report, what_is_not_there_is_not_drawn) {
    ReportModel model = assemble(synthetic_bare());
    EXPECT_THAT(ids(model.charts), ElementsAre("cpu_0", "node_memory"));
    EXPECT_FALSE(model.training);
    EXPECT_THAT(model.summary, Contains(HasSubstr("how it ended is not known")));
    EXPECT_EQ(model.figures[0].label, "Duration");
}

TEST(report, loopback_is_drawn_only_if_it_was_used) {
    Measurements data = synthetic_training();
    std::ranges::fill(data[node_plot("loopback_bytes_per_second")].means, 200);
    EXPECT_THAT(ids(make_charts(data)), testing::Not(Contains("loopback")));
}

Measurements evaluated(std::initializer_list<double> metrics, double target) {
    Measurements data;
    for (double metric : metrics)
        data.progress.push_back(
            {.seconds = 10.0 * static_cast<double>(data.progress.size() + 1), .metric = metric});
    data.progress_facts.target = target;
    return data;
}

TEST(report, a_metric_may_fall_or_rise_to_its_target) {
    Training falling = *describe_training(evaluated({0.5, 0.2, 0.1, 0.15}, 0.12));
    EXPECT_EQ(falling.target_reached, true);
    EXPECT_EQ(falling.best_metric, 0.1);
    EXPECT_EQ(falling.final_metric, 0.15);
    EXPECT_EQ(falling.seconds_to_target, 30);
    Training rising = *describe_training(evaluated({0.3, 0.6, 0.8}, 0.75));
    EXPECT_EQ(rising.target_reached, true);
    EXPECT_EQ(rising.best_metric, 0.8);
    EXPECT_EQ(describe_training(evaluated({0.3, 0.6}, 0.75))->target_reached, false);
    EXPECT_EQ(describe_training(evaluated({0.3, 0.6}, kMissing))->target_reached, std::nullopt);
    EXPECT_EQ(describe_training(evaluated({0.7}, 0.75))->target_reached, false);
}

TEST(report, throughput_leaves_out_the_start) {
    Measurements data;
    for (int i = 0; i < 20; ++i)
        data.progress.push_back({.seconds = i * 1.0, .step = 5 * i, .throughput = i < 3 ? 500.0 : 100.0});
    Training training = *describe_training(data);
    EXPECT_EQ(training.throughput_mean, 100);
    EXPECT_EQ(training.throughput_peak, 100);

    Measurements brief;
    brief.progress.push_back({.step = 4, .throughput = 7});
    EXPECT_EQ(describe_training(brief)->throughput_mean, 7) << "a run of a few steps has nothing else";
}

TEST(report, a_sentence_says_where_it_ran_and_who_looked_at_the_nodes) {
    Measurements data = synthetic_training();
    data.facts.push_back({.title = "Environment", .facts = {{"Name", "pytorch"}, {"Image", "a/b:1"}}});
    EXPECT_THAT(assemble(data).summary, Contains("It ran in the environment pytorch (a/b:1)."));
    data.facts.push_back({.title = "Vetting", .facts = {{"Protocol", "before"}}});
    data.vetting = "pass";
    EXPECT_THAT(
        assemble(data).summary,
        Contains(
            "It ran in the environment pytorch (a/b:1); its nodes were found fit by the protocol before."));
    data.facts.back().facts.push_back({"health", "fail on n1; bad fan", true, true});
    EXPECT_THAT(
        assemble(data).summary,
        Contains(
            "It ran in the environment pytorch (a/b:1); its nodes were found fit by the protocol before, "
            "but a later check refused some of them (health: fail on n1; bad fan)."));
    data.facts.back().facts.pop_back();
    data.vetting = "fail";
    data.facts.back().facts.push_back({"memory", "fail on n1: 1.00 GiB", true});
    EXPECT_THAT(
        assemble(data).summary,
        Contains("It was to run in the environment pytorch (a/b:1); its nodes were not found fit by the "
                 "protocol before (memory: fail on n1: 1.00 GiB)."));
    data.facts.erase(data.facts.end() - 2);
    EXPECT_THAT(
        assemble(data).summary,
        Contains("Its nodes were not found fit by the protocol before (memory: fail on n1: 1.00 GiB)."));
    EXPECT_THAT(assemble(data).summary, Contains(HasSubstr("did not start")));
}

TEST(report, sentences_say_how_it_went) {
    ReportModel model = assemble(synthetic_training());
    ASSERT_EQ(model.summary.size(), 4U);
    EXPECT_EQ(model.summary[0], "cosmoflow-mini ran on 2 nodes with 4 ranks for 2 min 58 s and completed.");
    EXPECT_EQ(
        model.summary[1],
        "It trained cosmoflow for 16 epochs at 112 samples/s and reached its target after 2 min 43 s: MAE "
        "0.126, target 0.13.");
    EXPECT_THAT(model.summary[3], HasSubstr("98.3 %"));
    EXPECT_THAT(model.summary[3], HasSubstr("2 gaps; nothing is known to be lost"));

    Measurements failed = synthetic_training();
    failed.job.outcome = "failed";
    failed.job.failure = "rank 3 on nid001002: python ended with exit status 1";
    failed.progress_facts.target = 0.01;
    failed.lost = {"a block"};
    model = assemble(failed);
    EXPECT_THAT(model.summary[0],
                HasSubstr("and failed: rank 3 on nid001002: python ended with exit status 1."));
    EXPECT_THAT(model.summary[1], HasSubstr("did not reach its target: the best MAE was"));
    EXPECT_THAT(model.summary[3], HasSubstr("one thing is known to be lost"));
    EXPECT_EQ(model.figures[0].tone, Tone::kBad);
    EXPECT_EQ(model.figures.back().tone, Tone::kWarning);
}

TEST(report, nothing_at_all_is_no_crash) {
    ReportModel model = assemble(Measurements{});
    EXPECT_THAT(model.charts, IsEmpty());
    EXPECT_EQ(model.grid.bins, 0U);
    EXPECT_FALSE(model.summary.empty());
}

}  // namespace
}  // namespace belay::report
