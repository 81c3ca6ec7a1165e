#include "report/gpu_report.h"

#include "report/findings.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report/testing/synthetic.h"
#include "report/testing/synthetic_gpu.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Chart* find_chart(const ReportModel& model, std::string_view id) {
    auto found = std::ranges::find(model.charts, id, &Chart::id);
    return found == model.charts.end() ? nullptr : &*found;
}

score::Digest small_digest(size_t per_node = 4) {
    return synthetic_digest(synthetic_large(2, 600), per_node);
}

TEST(report, score_is_that_of_the_score_module) {
    score::Digest digest = small_digest();
    score::JobScore job = score::score_job(digest);
    ReportModel model = synthetic_gpu_job(2, 4, 600);
    ASSERT_TRUE(model.gpu);
    EXPECT_DOUBLE_EQ(model.gpu->score.score.point, job.score.point);
    EXPECT_DOUBLE_EQ(model.gpu->score.score.low, job.score.low);
    EXPECT_DOUBLE_EQ(model.gpu->score.score.high, job.score.high);
    EXPECT_DOUBLE_EQ(model.gpu->score.steady_state, job.steady_state);
    EXPECT_EQ(model.gpu->gpus.size(), 8U);
    EXPECT_EQ(model.figures.at(0).label, "Findings") << "one is critical";
    EXPECT_EQ(model.figures.at(1).label, "Saturation score");
}

TEST(report, shares_of_every_moment_make_up_the_whole) {
    ReportModel model = synthetic_gpu_job(2, 4, 600);
    const Chart* chart = find_chart(model, "gpu_shares");
    ASSERT_NE(chart, nullptr);
    ASSERT_EQ(chart->series.size(), 4U);
    EXPECT_EQ(chart->series.front().colour, "saturated") << "the score is the lowest area";
    for (size_t i = 0; i < chart->seconds.size(); ++i) {
        double sum = 0;
        for (const Curve& series : chart->series) sum += series.values[i];
        EXPECT_NEAR(sum, 1, 1e-5) << "bucket " << i;
    }
}

TEST(report, the_score_and_its_chart_have_one_mean) {
    ReportModel model = synthetic_gpu_job(2, 4, 600);
    const Chart* shares = find_chart(model, "gpu_shares");
    EXPECT_DOUBLE_EQ(shares->series[0].mean, model.gpu->score.score.shares.saturated);
    EXPECT_DOUBLE_EQ(shares->series[3].mean, model.gpu->score.score.shares.idle);
    const ReportModel few = synthetic_gpu_job(1, 4, 600);
    EXPECT_DOUBLE_EQ(find_chart(few, "gpu_power")->series[2].mean, few.gpu->gpus[2].power_watts);
    EXPECT_TRUE(is_missing(find_chart(few, "gpu_temperature")->series[0].mean))
        << "the table has the highest";
}

TEST(report, no_word_below_the_least_coverage) {
    Measurements data = synthetic_large(1, 600);
    score::Digest digest = synthetic_digest(data, 1);
    digest.gpus[0].totals.allocated *= 2;  // half of the time was not observed
    ReportModel model = assemble(data);
    add_gpus(model, digest);
    EXPECT_FALSE(is_graded(model.gpu->score));
    EXPECT_TRUE(to_json(model)["gpu"]["score"]["word"].is_null());
    EXPECT_EQ(model.figures.front().tone, Tone::kNeutral);
    EXPECT_THAT(model.figures.front().detail, Not(HasSubstr("moderate")));
    EXPECT_LT(model.gpu->score.score.low + 40, model.gpu->score.score.high);
}

// It was known to be idle for 2 of 100 s, and of the others nothing is known.
TEST(report, a_gpu_without_counters_has_no_score_of_its_own) {
    score::Digest digest = synthetic_digest(synthetic_large(1, 100), 2);
    score::GpuDigest& gpu = digest.gpus[0];
    gpu.weight = 1;
    gpu.totals = {};
    gpu.totals.allocate(1, 100);
    gpu.totals.add(1, 2, {.shares = {.idle = 1, .gap = 0, .unsaturated = 0, .saturated = 0}, .highest = 0});
    gpu.uncounted_seconds = 2;
    std::vector<GpuFacts> facts = gpu_facts(digest, score::score_job(digest));
    EXPECT_TRUE(is_missing(facts[0].part.score.point));
    EXPECT_DOUBLE_EQ(facts[0].part.score.low, 0);
    EXPECT_DOUBLE_EQ(facts[0].part.score.high, 98);
    EXPECT_FALSE(is_missing(facts[1].part.score.point));
    ReportModel model = assemble(synthetic_large(1, 100));
    add_gpus(model, digest);
    EXPECT_TRUE(to_json(model)["gpu"]["gpus"][0]["score"].is_null());
}

TEST(report, windows_are_as_long_as_the_interval) {
    score::Digest digest = small_digest();
    EXPECT_EQ(histograms(digest, kMissing)[0].note, "Windows of 1 s");
    digest.interval_seconds = 30;
    EXPECT_EQ(histograms(digest, kMissing)[0].note, "Windows of 30 s");
    EXPECT_EQ(window_seconds(0.1), 1);
}

TEST(report, words_of_scores) {
    EXPECT_EQ(score_word(100), "high");
    EXPECT_EQ(score_word(60), "high");
    EXPECT_EQ(score_word(59.9), "moderate");
    EXPECT_EQ(score_word(10), "low");
    EXPECT_EQ(score_word(0), "very low");
}

TEST(report, few_gpus_are_rows_and_many_are_bands) {
    ReportModel few = synthetic_gpu_job(4, 4, 600);
    EXPECT_EQ(find_chart(few, "gpu_sm"), nullptr);
    EXPECT_TRUE(
        std::ranges::any_of(few.gpu->grid.metrics, [](const NodeMetric& one) { return one.id == "nvlink"; }));
    ReportModel many = synthetic_gpu_job(5, 4, 600);
    const Chart* chart = find_chart(many, "gpu_sm");
    ASSERT_NE(chart, nullptr);
    EXPECT_EQ(chart->kind, ChartKind::kSpread);
    for (size_t i = 0; i < chart->seconds.size(); ++i) {
        if (is_missing(chart->series[0].values[i])) continue;
        EXPECT_LE(chart->series[0].values[i], chart->series[1].values[i]);
        EXPECT_LE(chart->series[1].values[i], chart->series[2].values[i]);
    }
    ASSERT_GT(chart->series.size(), 3U) << "the idle GPU stands out";
    EXPECT_EQ(chart->series[3].label, "nid001005:1");
}

TEST(report, gpus_that_are_alike_have_no_outliers) {
    score::Digest digest = synthetic_digest(synthetic_large(5, 600), 4);
    for (score::GpuDigest& gpu : digest.gpus) {
        gpu.whole = digest.gpus[0].whole;
        gpu.series = digest.gpus[0].series;
    }
    for (const Chart& chart : gpu_charts(digest, 0)) {
        size_t lines = chart.kind == ChartKind::kSpread ? chart.series.size() : 3;
        EXPECT_EQ(lines, 3U) << chart.id;
    }
}

TEST(report, missing_time_of_a_gpu_stays_missing) {
    ReportModel model = synthetic_gpu_job(4, 4, 600);
    const NodeGrid& grid = model.gpu->grid;
    constexpr size_t kLost = 8;  // of 16: synthetic_gpu.cpp
    EXPECT_TRUE(is_missing(grid.metrics[0].values[kLost * grid.bins + grid.bins - 1]));
    EXPECT_FALSE(is_missing(grid.metrics[0].values[(kLost + 1) * grid.bins + grid.bins - 1]));
}

TEST(report, a_thousand_gpus_stay_small) {
    score::Digest digest = synthetic_digest(synthetic_large(256, 3600), 4);
    NodeGrid grid = gpu_grid(digest, 0);
    EXPECT_LE(grid.bins * 1024, 160'000U);
    EXPECT_NEAR(static_cast<double>(grid.bins) * grid.bin_seconds, 3600, grid.bin_seconds);
    ReportModel model;
    model.grid = grid;
    EXPECT_EQ(to_json(model)["grid"]["metrics"][0]["bits"], 8);
}

TEST(report, histograms_hold_all_of_the_time) {
    score::Digest digest = small_digest();
    std::vector<Histogram> all = histograms(digest, 30);
    ASSERT_GE(all.size(), 3U);
    for (const Histogram& one : all) {
        double sum = std::accumulate(one.shares.begin(), one.shares.end(), 0.0);
        sum = std::accumulate(one.startup.begin(), one.startup.end(), sum);
        EXPECT_NEAR(sum, 1, 1e-9) << one.id;
        EXPECT_NE(one.id, "used_fp64") << "nothing used it";
    }
    EXPECT_FALSE(all[1].startup.empty());
    EXPECT_TRUE(histograms(digest, kMissing)[1].startup.empty());
}

TEST(report, an_earlier_allocation_moves_everything_else_later) {
    Measurements data = synthetic_large(2, 600);
    ReportModel plain = assemble(data);
    score::Digest digest = synthetic_digest(data, 4);
    digest.start -= std::chrono::seconds(60);
    ReportModel model = assemble(data);
    add_gpus(model, digest);
    EXPECT_EQ(model.start, digest.start);
    EXPECT_DOUBLE_EQ(model.seconds, plain.seconds + 60);
    EXPECT_DOUBLE_EQ(model.grid.start, 60);
    const Chart* cpu = find_chart(model, "job_cpu");
    ASSERT_NE(cpu, nullptr);
    EXPECT_DOUBLE_EQ(cpu->seconds[0], find_chart(plain, "job_cpu")->seconds[0] + 60);
    EXPECT_LT(find_chart(model, "gpu_shares")->seconds[0], 1.1);
}

TEST(report, nothing_of_gpus_where_there_are_none) {
    Measurements data = synthetic_training();
    ReportModel model = assemble(data);
    add_gpus(model, score::Digest());
    EXPECT_FALSE(model.gpu);
    EXPECT_TRUE(to_json(model)["gpu"].is_null());
    EXPECT_THAT(render_terminal(model, false, 100), Not(HasSubstr("aturation")));
    model.score_sentence = "The saturation score of its CPUs is 12.";
    EXPECT_THAT(render_terminal(model, false, 100), HasSubstr("score of its CPUs is 12"));
}

TEST(report, findings_keep_their_order_and_the_worst_sets_the_tone) {
    ReportModel model = assemble(synthetic_large(3));
    findings::Report found = synthetic_findings(synthetic_large(3), model.start);
    std::ranges::reverse(found.findings);
    add_findings(model, found);
    EXPECT_EQ(model.findings->findings.front().id, "data_stall");
    EXPECT_EQ(model.figures.front().label, "Findings");
    EXPECT_EQ(model.figures.front().tone, Tone::kBad);
    EXPECT_EQ(model.figures.front().detail, "1 critical, 1 warning");
    auto json = to_json(model)["findings"];
    EXPECT_EQ(json["findings"][0]["evidence"][0]["unit"], "ratio");
    EXPECT_EQ(json["skipped"].size(), 2U);
    EXPECT_EQ(json["findings"][0]["shown_in"].dump(), R"(["sm","job_read"])") << "as plots are called";
}

TEST(report, a_job_with_critical_findings_did_not_simply_complete) {
    const Measurements data = synthetic_large(3);
    ReportModel model = assemble(data);
    EXPECT_EQ(job_state(model).text, "completed");
    EXPECT_EQ(job_state(model).tone, Tone::kGood);
    findings::Report found = synthetic_findings(data, model.start);
    found.findings.push_back(found.findings.front());
    add_findings(model, found);
    EXPECT_EQ(job_state(model).text, "completed, 2 critical findings");
    EXPECT_EQ(job_state(model).tone, Tone::kWarning);
    EXPECT_EQ(to_json(model)["state"].dump(),
              R"({"text":"completed, 2 critical findings","tone":"warning"})");
    model.job.outcome = "failed";
    model.job.exit_status = 3;
    EXPECT_EQ(job_state(model).text, "failed, exit status 3, 2 critical findings");
    EXPECT_EQ(job_state(model).tone, Tone::kBad);
    model.findings->findings.erase(model.findings->findings.begin());
    model.findings->findings.pop_back();
    model.job.outcome = "completed";
    EXPECT_EQ(job_state(model).tone, Tone::kGood) << "a warning alone does not change it";
}

TEST(report, what_is_critical_comes_before_the_score) {
    ReportModel model = synthetic_gpu_job(2, 4, 600);
    EXPECT_THAT(model.summary.at(1), HasSubstr("Most important: A GPU ran slower"));
    std::string text = render_terminal(model, false, 100);
    EXPECT_THAT(text, HasSubstr("completed, 1 critical finding"));
    EXPECT_LT(text.find("\nFindings\n"), text.find("\nKey figures\n"));
    model.findings->findings.erase(model.findings->findings.begin());
    text = render_terminal(model, false, 100);
    EXPECT_GT(text.find("\nFindings\n"), text.find("\nSaturation score\n"));
}

TEST(report, text_tells_score_and_findings) {
    std::string text = render_terminal(synthetic_gpu_job(4, 4, 600), false, 100);
    for (const char* part : {"Saturation score", "saturated", "bound by compute",
                             "A GPU ran slower because it was too hot", "clock of its peers 1890 MHz",
                             "6 rules evaluated, 2 skipped: 1 needs rows in filesystem, 1 does not apply"})
        EXPECT_THAT(text, HasSubstr(part));
}

TEST(report, a_score_without_bounds_says_what_was_observed) {
    auto range = [](const score::Score& score, bool sampled = true) {
        score::JobScore job;
        job.score = score;
        job.sampled = sampled;
        return score_range(job);
    };
    EXPECT_EQ(range({.point = 40, .low = 40, .high = 40, .coverage = 1, .shares = {}}), "100.0 % observed");
    EXPECT_EQ(range({.point = 40, .low = 38, .high = 43, .coverage = 0.95, .shares = {}}),
              "38.0 to 43.0, 95.0 % observed");
    EXPECT_EQ(range({.point = kMissing, .shares = {}}, false), "nothing was observed");
    EXPECT_EQ(range({.point = kMissing, .shares = {}}), "no counters of pipes or memory");
}

TEST(report, thinning_leaves_out_what_is_missing) {
    EXPECT_THAT(thinned({1, 3, kMissing, 5}, 2), ElementsAre(2, 5));
    EXPECT_THAT(thinned({1, 2}, 3), ElementsAre(1, 2));
}

}  // namespace
}  // namespace belay::report
