#include "report/findings.h"
#include "report/format.h"
#include "report/gpu_report.h"
#include "report/pdf/pages.h"
#include "report/pdf/pdf.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::report {

namespace {

std::vector<Pages::Pair> job_facts(const ReportModel& model) {
    std::vector<Pages::Pair> facts;
    auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) facts.emplace_back(name, value);
    };
    add("Job", where_of(model));
    add("Start", core::format_time(model.start).substr(0, 19) + "Z");
    add("Duration", format_duration(model.seconds));
    add("Nodes", fmt::format("{}", model.nodes.size()));
    if (model.ranks > 0) add("Ranks", fmt::format("{}", model.ranks));
    if (model.gpu) {
        add("GPUs", gpu_models(*model.gpu));
        add("GPU-hours", format_quantity(gpu_hours(model.gpu->score), ""));
    }
    double node_hours = static_cast<double>(model.nodes.size()) * model.seconds / 3600;
    add("Node-hours", format_quantity(node_hours, ""));
    add("Outcome", job_state(model).text);
    return facts;
}

// What one job can say about scaling: how evenly its parts worked and what it got through, per GPU.
std::vector<Pages::Pair> scaling_facts(const ReportModel& model) {
    std::vector<Pages::Pair> facts;
    auto add = [&](std::string_view name, std::string value) { facts.emplace_back(name, std::move(value)); };
    if (model.training && !is_missing(model.training->throughput_mean)) {
        const Training& training = *model.training;
        add("Throughput", format_quantity(training.throughput_mean, training.throughput_unit));
        size_t parts = model.gpu ? model.gpu->gpus.size() : model.nodes.size();
        add(model.gpu ? "Throughput per GPU" : "Throughput per node",
            format_quantity(training.throughput_mean / static_cast<double>(std::max<size_t>(1, parts)),
                            training.throughput_unit));
    }
    if (!model.gpu) return facts;
    const GpuReport& gpu = *model.gpu;
    add("Imbalance over GPUs", format_quantity(gpu.score.imbalance, "share"));
    double lowest = kMissing;
    double highest = kMissing;
    for (const GpuFacts& one : gpu.gpus) {
        if (is_missing(one.part.score.point)) continue;
        lowest = is_missing(lowest) ? one.part.score.point : std::min(lowest, one.part.score.point);
        highest = is_missing(highest) ? one.part.score.point : std::max(highest, one.part.score.point);
    }
    add("Score of single GPUs", fmt::format("{} to {}", format_score(lowest), format_score(highest)));
    if (!is_missing(gpu.mix.network_mean))
        add("Busiest link, mean use", format_quantity(gpu.mix.network_mean, "share"));
    return facts;
}

// Of a job without GPUs, in the place of the score.
void use_of_processors(Pages& pages) {
    const ReportModel& model = pages.model;
    std::string text = model.score_sentence;
    for (const std::string& sentence : model.summary) text += (text.empty() ? "" : " ") + sentence;
    pages.heading("Use");
    pages.paragraph(text);
    pages.y += 4;
    key_figures(pages);
}

void first_page(Pages& pages) {
    const ReportModel& model = pages.model;
    pages.canvas.text({kMargin, pages.y}, "Measured use of resources", {.size = 9, .colour = kSoft});
    pages.y += 22;
    pages.canvas.text({kMargin, pages.y},
                      pages.canvas.fitted(title_of(model), kTextWidth, {.size = 20, .bold = true}),
                      {.size = 20, .bold = true});
    pages.y += 12;
    pages.heading("Job");
    pages.facts(job_facts(model), 2);
    if (!model.job.command.empty())
        pages.paragraph("$ " + model.job.command.substr(0, 300), {.size = 8, .colour = kSoft});
    if (!model.gpu) return use_of_processors(pages);
    const GpuReport& gpu = *model.gpu;
    pages.heading("Saturation",
                  "how near the GPUs came to a limit of the hardware, on average over the allocated time");
    score_head(pages, gpu.score);
    pages.charts(charts_of(model, "score"), 190);
    pages.heading("Beside the score");
    pages.facts(companion_facts(gpu.score), 2);
}

struct ChartsOf {
    std::string_view section, title;
    bool with_gpus;  // also in the form of a job with GPUs
};
constexpr ChartsOf kCharts[] = {{"power", "Energy and clocks", true}, {"training", "Training", true},
                                {"processor", "Processors", true},    {"memory", "Memory", false},
                                {"network", "Network", false},        {"storage", "Storage", false}};

// As many sections as two pages hold beside the methods.
void charts(Pages& pages) {
    constexpr size_t kMostPages = 2;
    constexpr size_t kMostCharts = 2;
    constexpr double kHeight = 120;
    constexpr double kRoom = 31 + kHeight;
    const double methods = pages.model.gpu ? 150 : 90;
    for (const ChartsOf& row : kCharts) {
        std::vector<const Chart*> charts = charts_of(pages.model, row.section);
        if (charts.size() > kMostCharts) charts.resize(kMostCharts);
        if (charts.empty() || (pages.model.gpu && !row.with_gpus)) continue;
        if (pages.canvas.pages() == kMostPages && pages.room() < kRoom + methods) continue;
        pages.heading(row.title, "", kHeight);
        pages.charts(charts, kHeight);
    }
}

void methods(Pages& pages) {
    const ReportModel& model = pages.model;
    pages.heading("How this was measured");
    pages.paragraph(
        model.gpu
            ? methods_text(*model.gpu)
            : std::string("CPU use: the time in which the job's processes ran, of the CPUs allotted to "
                          "it. Memory: their pages in RAM; those that they share count for each. "
                          "Network and disks: what the nodes received, sent, read and wrote, by whomever."),
        {.size = 8.5});
    pages.paragraph(fmt::format("{} of the expected samples of the record were received. Written by {}.",
                                format_coverage(model.coverage.total), model.producer),
                    {.size = 8.5});
}

void scaling(Pages& pages) {
    const ReportModel& model = pages.model;
    if (std::vector<Pages::Pair> facts = scaling_facts(model); !facts.empty()) {
        pages.heading("Scaling", "within this job; compare jobs of several sizes for more");
        pages.facts(facts, 2);
    }
    if (!model.gpu) return;
    pages.grid(2, 2, 180, [&](size_t i, const Box& box) {
        if (i == 0) plot_balance(pages.canvas, box, *model.gpu);
        if (i == 1 && !model.gpu->histograms.empty())
            plot_histogram(pages.canvas, box, model.gpu->histograms[0]);
    });
}

}  // namespace

core::Result<std::string> render_proposal(const ReportModel& model) {
    BELAY_TRY(canvas, Canvas::create(fmt::format("{} · use of resources", title_of(model))));
    Pages pages(canvas, model);
    first_page(pages);
    if (model.gpu) pages.next();
    scaling(pages);
    charts(pages);
    methods(pages);
    pages.feet();
    return canvas.finish();
}

}  // namespace belay::report
