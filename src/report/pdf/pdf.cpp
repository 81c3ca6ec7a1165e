#include "report/pdf/pdf.h"

#include "findings/report_text.h"
#include "report/charts.h"
#include "report/findings.h"
#include "report/format.h"
#include "report/gpu_report.h"
#include "report/not_drawn.h"
#include "report/pdf/pages.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace belay::report {

namespace {

Colour tone_colour(Tone tone) {
    switch (tone) {
        case Tone::kGood:
            return kBrand;
        case Tone::kWarning:
            return kWarning;
        case Tone::kBad:
            return kBad;
        case Tone::kNeutral:
            break;
    }
    return kSoft;
}

void title(Pages& pages) {
    const ReportModel& model = pages.model;
    const Job& job = model.job;
    Canvas& canvas = pages.canvas;
    const State state = job_state(model);
    const TextStyle style{
        .size = 11, .bold = true, .colour = tone_colour(state.tone), .align = Align::kRight};
    const double room = kTextWidth - canvas.text_width(state.text, style) - 12;
    canvas.text({kMargin, pages.y + 8}, canvas.fitted(title_of(model), room, {.size = 22, .bold = true}),
                {.size = 22, .bold = true});
    canvas.text({kPageWidth - kMargin, pages.y + 8}, state.text, style);
    pages.y += 24;
    std::string moment = core::format_time(model.start).substr(0, 19) + " UTC";
    moment[10] = ' ';
    pages.paragraph(fmt::format("{} · {} · {}", where_of(model), moment, format_duration(model.seconds)),
                    {.size = 9, .colour = kSoft});
    if (!job.command.empty())
        pages.paragraph("$ " + job.command.substr(0, 400), {.size = 8, .colour = kSoft});
    pages.y += 6;
    std::string summary;
    for (const std::string& sentence : model.summary) summary += sentence + " ";
    pages.paragraph(summary, {.size = 10});
    if (!model.gpu && !model.score_sentence.empty()) pages.paragraph(model.score_sentence, {.size = 10});
}

void finding(Pages& pages, const findings::Finding& one) {
    Canvas& canvas = pages.canvas;
    constexpr double kLeast = 64;
    constexpr double kIndent = 10;
    pages.need(kLeast);
    const size_t page = canvas.pages() - 1;
    const double top = pages.y - 8;
    const Colour colour = tone_colour(severity_tone(one.severity));
    const TextStyle bold{.size = 10, .bold = true}, soft{.size = 8, .colour = kSoft}, plain{.size = 8.5};
    canvas.text({kMargin + kIndent, pages.y}, canvas.fitted(one.title, kTextWidth - kIndent - 60, bold),
                bold);
    canvas.text({kPageWidth - kMargin, pages.y}, std::string(findings::severity_name(one.severity)),
                {.size = 9, .bold = true, .colour = colour, .align = Align::kRight});
    pages.y += 12;
    pages.lines(finding_place(one, pages.model.start), soft, kIndent);
    if (!one.summary.empty()) pages.lines(one.summary, plain, kIndent);
    const std::string evidence = evidence_text(one, " · ");
    if (!evidence.empty()) pages.lines(evidence, plain, kIndent);
    for (std::string_view line : quoted_lines(one)) pages.lines("| " + std::string(line), soft, kIndent);
    if (!one.advice.empty()) pages.lines(one.advice, plain, kIndent);
    pages.bar(page, top, colour);
    pages.y += 8;
}

void findings(Pages& pages) {
    if (!pages.model.findings) return;
    const findings::Report& found = *pages.model.findings;
    pages.heading("Findings", fmt::format("{} rules evaluated, {} skipped", found.evaluated.size(),
                                          found.skipped.size()));
    if (found.findings.empty()) pages.paragraph("No rule found anything.");
    if (!found.skipped.empty())
        pages.paragraph("Not evaluated: " + findings::skipped_text(found.skipped) + ".");
    for (const findings::Finding& one : found.findings) finding(pages, one);
}

void breakdown(Pages& pages, const GpuReport& gpu) {
    pages.heading("Breakdown", "shares of the observed time, mean of all GPUs");
    pages.facts(companion_facts(gpu.score), 2);
    std::vector<const Chart*> charts = charts_of(pages.model, "score");
    const Mix& all = gpu.mix;
    Chart mix{.id = "gpu_mix",
              .section = "score",
              .title = all.network_is_share
                           ? "Compute, memory and network, weighted alike"
                           : "Compute, memory, and network relative to its highest, weighted alike",
              .unit = "share",
              .kind = ChartKind::kStack,
              .top = 1,
              .target = {},
              .seconds = gpu.mix.seconds,
              .series = {}};
    auto known = [&](size_t i) {
        return !is_missing(all.compute[i]) || !is_missing(all.memory[i]) || !is_missing(all.network[i]);
    };
    auto add = [&](std::string_view label, std::string_view colour, const std::vector<double>& values) {
        Curve series{
            .label = std::string(label), .node = {}, .colour = std::string(colour), .values = values};
        for (size_t i = 0; i < values.size(); ++i)  // one that is not known counts as 0 beside one that is
            series.values[i] = known(i) ? (is_missing(values[i]) ? 0 : values[i] / 3) : kMissing;
        mix.series.push_back(std::move(series));
    };
    add("compute", "compute", all.compute);
    add("memory", "memory", all.memory);
    add("network", "network", all.network);
    const std::vector<Chart> both = {mix};
    if (has_data(mix) && always_zero(both).empty()) charts.push_back(&mix);
    pages.charts(charts, 170);
    pages.not_drawn("score");
}

void gpus(Pages& pages, const GpuReport& gpu) {
    if (gpu.gpus.size() > kMostGpuRows) {
        std::vector<const Chart*> charts = charts_of(pages.model, "gpus");
        double rows = std::ceil(static_cast<double>(charts.size()) / 2);
        double height = std::clamp((pages.room() - 40) / rows, 118.0, 150.0);
        pages.heading("GPUs over time", "the middle 80 % and the median of all, and GPUs that stand out",
                      rows * height);
        pages.charts(charts, height);
        return;
    }
    if (gpu.grid.metrics.empty()) return;
    constexpr double kHead = 60;  // of the section and of the plots
    constexpr double kLeastRow = 22;
    constexpr double kMostRow = 60;
    auto rows = static_cast<double>(gpu.gpus.size());
    double row = std::clamp((pages.room() - kHead) / rows, kLeastRow, kMostRow);
    double height = 24 + row * rows;
    pages.heading("GPUs over time", "each GPU; what was not measured is grey", height);
    plot_multiples(pages.canvas, {kMargin, pages.y, kTextWidth, height}, gpu, pages.time());
    pages.y += height;
}

void heat_maps(Pages& pages, const GpuReport& gpu) {
    // The first of them are the score and the limits; the others stand in the small plots.
    constexpr size_t kHeatMaps = 6;
    size_t count = std::min(kHeatMaps, gpu.grid.metrics.size());
    if (count == 0) return;
    double height = std::clamp(30 + 9.0 * static_cast<double>(gpu.gpus.size()), 62.0, 205.0);
    std::string note = "a row each, hatched where not measured";
    if (size_t merged = heat_rows_merged(gpu.gpus.size()); merged > 1)
        note =
            fmt::format("a row is the lowest of {} neighbours, hatched where one was not measured", merged);
    pages.heading("Heat maps", fmt::format("{}, {}", format_count(gpu.gpus.size(), "GPU"), note),
                  height * std::ceil(static_cast<double>(count) / 2));
    pages.grid(count, 2, height, [&](size_t i, const Box& box) {
        plot_heat(pages.canvas, box, gpu.grid, gpu.grid.metrics[i], pages.time());
    });
    Box ramp{kPageWidth - kMargin - 150, pages.y, 100, 6};
    for (int i = 0; i < 50; ++i)
        pages.canvas.fill({ramp.x + 2 * i, ramp.y, 2.2, ramp.height}, heat_colour(i / 49.0));
    pages.canvas.text({ramp.x - 4, ramp.y + 6}, "lowest",
                      {.size = 7, .colour = kSoft, .align = Align::kRight});
    pages.canvas.text({ramp.right() + 4, ramp.y + 6}, "highest", {.size = 7, .colour = kSoft});
    pages.y += 16;
}

void distributions(Pages& pages, const GpuReport& gpu) {
    pages.heading("Distributions", "share of the time at each level of use; orange: start-up", 290);
    pages.grid(gpu.histograms.size(), 3, 110,
               [&](size_t i, const Box& box) { plot_histogram(pages.canvas, box, gpu.histograms[i]); });
    pages.grid(2, 2, 170, [&](size_t i, const Box& box) {
        if (i == 0) plot_balance(pages.canvas, box, gpu);
        if (i == 1) plot_scatter(pages.canvas, box, gpu);
    });
}

void methods(Pages& pages, const GpuReport& gpu) {
    pages.heading("Methods");
    pages.paragraph(methods_text(gpu), {.size = 8.5});
    static constexpr std::array<std::string_view, 6> kDefinitions = {
        "Idle: 1 − engine. Gap: engine − SM. Unsaturated: SM − s. Saturated: s. Together they make up the "
        "observed time.",
        "Steady state: the score from the moment on at which the saturation first stays at half of its 90th "
        "percentile for 30 s.",
        "Imbalance: 1 − mean/max of the mean saturation of the GPUs. Burstiness: standard deviation over "
        "mean of the job's seconds.",
        "FLOP use: mean over windows of tensor activity × clock over the highest clock. Energy: difference "
        "of the energy counters.",
        "Compute against memory: use of the busiest pipe over use of DRAM; small dots are moments, large "
        "ones means of GPUs.",
        "Words: high from 60, moderate from 30, low from 10, very low below; for orientation only."};
    for (std::string_view text : kDefinitions) pages.paragraph(text, {.size = 8.5});
    for (const CeilingFacts& one : gpu.ceilings)
        pages.paragraph(fmt::format("{} × {}: {}, version {}, {}; clock {}.", one.gpus, one.name,
                                    one.calibrated ? "calibrated" : "uncalibrated", one.version, one.source,
                                    format_quantity(one.clock_hertz, "Hz")),
                        {.size = 8.5});
    for (const std::string& note : gpu.score.notes)
        pages.paragraph(fmt::format("Note: {}.", note), {.size = 8.5});
}

void charts_section(Pages& pages, std::string_view title, std::string_view note, std::string_view id) {
    const std::vector<const Chart*> charts = charts_of(pages.model, id);
    pages.heading(title, note, charts.empty() ? kLineRoom : kChartHeight);
    pages.charts(charts);
    pages.not_drawn(id);
}

void gpu_parts(Pages& pages) {
    GpuReport gpu = *pages.model.gpu;
    gpu.grid = drawn_grid(pages.model, gpu.grid, kGpusSection);
    pages.next();
    breakdown(pages, gpu);
    gpus(pages, gpu);
    heat_maps(pages, gpu);
    pages.not_drawn(kGpusSection);
    distributions(pages, gpu);
    charts_section(pages, "Power, clocks and links", "", "power");
}

}  // namespace

core::Result<std::string> render_pdf(const ReportModel& model) {
    BELAY_TRY(canvas, Canvas::create(fmt::format("{} · Belay report", title_of(model))));
    Pages pages(canvas, model);
    title(pages);
    const bool findings_first = critical_findings(model) > 0;
    if (findings_first) findings(pages);
    if (model.gpu) {
        pages.need(kScoreHeight);
        pages.y += 8;
        score_head(pages, model.gpu->score);
    }
    key_figures(pages);
    if (!findings_first) findings(pages);
    if (model.gpu) gpu_parts(pages);
    for (const Section& section : model.sections)
        charts_section(pages, section.title, section.note, section.id);
    if (model.gpu) methods(pages, *model.gpu);
    pages.feet();
    return canvas.finish();
}

}  // namespace belay::report
