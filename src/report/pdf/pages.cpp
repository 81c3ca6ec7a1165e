#include "report/pdf/pages.h"

#include "report/format.h"
#include "report/gpu_report.h"
#include "report/not_drawn.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace belay::report {

namespace {

constexpr double kTop = 54;
constexpr double kBottom = kPageHeight - 50;

}  // namespace

void Pages::next() {
    canvas.add_page();
    y = kTop;
}

void Pages::need(double height) {
    if (y + height > kBottom) next();
}

double Pages::room() const {
    return kBottom - y;
}

void Pages::heading(std::string_view title, std::string_view note, double room) {
    constexpr double kOwn = 31;
    need(kOwn + room);
    y += 12;
    TextStyle style{.size = 13, .bold = true, .colour = kBrand};
    canvas.text({kMargin, y}, title, style);
    double width = canvas.text_width(title, style) + 10;
    if (!note.empty())
        canvas.text({kMargin + width, y}, canvas.fitted(note, kTextWidth - width, {}),
                    {.size = 8.5, .colour = kSoft});
    y += 5;
    canvas.line(std::array{Point{kMargin, y}, Point{kPageWidth - kMargin, y}}, kLine, 0.8);
    y += 14;
}

void Pages::lines(std::string_view text, const TextStyle& style, double indent) {
    const double height = style.size * kLeading;
    const std::vector<std::string> all = canvas.wrapped(text, kTextWidth - indent, style);
    if (all.size() > 1) need(2 * height);  // no first line alone
    for (const std::string& line : all) {
        need(height);
        canvas.text({kMargin + indent, y}, line, style);
        y += height;
    }
}

void Pages::paragraph(std::string_view text, const TextStyle& style) {
    lines(text, style);
    y += 3;
}

void Pages::bar(size_t page, double top, const Colour& colour) {
    constexpr double kWidth = 3;
    const size_t last = canvas.pages() - 1;
    for (; page <= last; ++page) {
        canvas.to_page(page);
        const double bottom = page == last ? y - 6 : kBottom;
        canvas.fill({kMargin, top, kWidth, bottom - top}, colour);
        top = kTop - 8;
    }
}

void Pages::facts(const std::vector<Pair>& pairs, size_t columns) {
    constexpr double kRow = 13.5;
    double width = kTextWidth / static_cast<double>(columns);
    double names = 0;
    for (const auto& [name, value] : pairs) names = std::max(names, canvas.text_width(name, {.size = 8.5}));
    names = std::min(names + 10, width * 0.5);
    for (size_t i = 0; i < pairs.size(); ++i) {
        if (i % columns == 0) need(kRow);
        double x = kMargin + width * static_cast<double>(i % columns);
        canvas.text({x, y}, pairs[i].first, {.size = 8.5, .colour = kSoft});
        TextStyle style{.size = 8.5};
        canvas.text({x + names, y}, canvas.fitted(pairs[i].second, width - names - 8, style), style);
        if (i % columns == columns - 1 || i + 1 == pairs.size()) y += kRow;
    }
    y += 4;
}

void Pages::charts(const std::vector<const Chart*>& charts, double height) {
    const findings::Report* findings = model.findings ? &*model.findings : nullptr;
    grid(charts.size(), charts.size() == 1 ? 1 : 2, height, [&](size_t i, const Box& box) {
        plot_chart(canvas, box, *charts[i], time(), findings, model.start);
    });
}

void Pages::not_drawn(std::string_view section) {
    if (const std::string text = not_drawn_text(model, section); !text.empty())
        paragraph(text, {.size = 8, .colour = kSoft});
}

void Pages::feet() {
    TextStyle style{.size = 7, .colour = kSoft};
    for (size_t page = 0; page < canvas.pages(); ++page) {
        canvas.to_page(page);
        style.align = Align::kLeft;
        canvas.text(
            {kMargin, kPageHeight - 28},
            canvas.fitted(fmt::format("{} · {} · {}", title_of(model), where_of(model), model.producer),
                          kTextWidth - 60, style),
            style);
        style.align = Align::kRight;
        canvas.text({kPageWidth - kMargin, kPageHeight - 28},
                    fmt::format("{} / {}", page + 1, canvas.pages()), style);
    }
}

void key_figures(Pages& pages) {
    const auto& figures = pages.model.figures;
    pages.grid(figures.size(), 4, 50, [&](size_t i, const Box& box) {
        pages.canvas.fill(box, kSunk);
        TextStyle small{.size = 7, .colour = kSoft};
        pages.canvas.text({box.x + 7, box.y + 11},
                          pages.canvas.fitted(figures[i].label, box.width - 14, small), small);
        pages.canvas.text({box.x + 7, box.y + 25}, figures[i].value, {.size = 13, .bold = true});
        pages.canvas.text({box.x + 7, box.y + 35},
                          pages.canvas.fitted(figures[i].detail, box.width - 14, small), small);
    });
}

std::vector<const Chart*> charts_of(const ReportModel& model, std::string_view section) {
    std::vector<const Chart*> result;
    for (const Chart& chart : model.charts)
        if (chart.section == section && is_drawn(model, section, chart.id)) result.push_back(&chart);
    return result;
}

std::string title_of(const ReportModel& model) {
    return model.job.name.empty() ? std::string("Job") : model.job.name;
}

std::string where_of(const ReportModel& model) {
    const Job& job = model.job;
    std::string text;
    auto add = [&](std::string_view word, const std::string& value) {
        if (!value.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : " ", word, value);
    };
    add("job", record::id_text(job));
    add("on", job.cluster);
    add("by", job.user);
    add("for", job.account);
    return text;
}

void score_head(Pages& pages, const score::JobScore& job) {
    const score::Score& score = job.score;
    Canvas& canvas = pages.canvas;
    double y = pages.y;
    TextStyle large{.size = 38, .bold = true, .colour = kBrand};
    std::string number = format_score(score.point);
    canvas.text({kMargin, y + 28}, number, large);
    double x = kMargin + canvas.text_width(number, large) + 12;
    canvas.text({x, y + 12}, "saturation score of 100", {.size = 9, .colour = kSoft});
    std::string word = is_missing(score.point) ? std::string(why_no_score(job))
                       : is_graded(job)        ? std::string(score_word(score.point))
                                        : std::string("no grade: less than 80 % of the time was observed");
    canvas.text({x, y + 26}, word, {.size = 12, .bold = true});
    plot_track(canvas, {kMargin, y + 46, 190, 9}, job);
    y += 78;
    if (!is_missing(score.point))
        y = canvas.paragraph(
            {kMargin, y}, 200,
            fmt::format(
                "Between {} and {}, if all that was not observed was idle, or saturated. {} of {:.3g} "
                "GPU-hours were observed.",
                format_score(score.low), format_score(score.high), format_coverage(score.coverage),
                gpu_hours(job)),
            {.size = 8, .colour = kSoft});
    if (!is_missing(job.steady_state))
        y = canvas.paragraph(
            {kMargin, y + 2}, 200,
            fmt::format("Steady state (triangle): {} without {} of start-up.", format_score(job.steady_state),
                        format_duration(job.startup_seconds.value_or(0))),
            {.size = 8, .colour = kSoft});
    if (!job.calibrated)
        y = canvas.paragraph({kMargin, y + 2}, 200,
                             "Limits uncalibrated: nobody has measured what kernels reach on this model.",
                             {.size = 8, .bold = true, .colour = kWarning});
    plot_waterfall(canvas, {kMargin + 224, pages.y, kTextWidth - 224, 124}, score);
    pages.y = std::max(y, pages.y + 132) + 6;
}

std::vector<Pages::Pair> companion_facts(const score::JobScore& job) {
    std::vector<Pages::Pair> facts;
    auto add = [&](std::string_view name, double value, std::string_view unit) {
        if (!is_missing(value)) facts.emplace_back(name, format_quantity(value, unit));
    };
    if (!is_missing(job.steady_state)) facts.emplace_back("Steady state", format_score(job.steady_state));
    if (!bound_text(job).empty()) facts.emplace_back("Bound by", bound_text(job));
    add("Engine busy", job.busy_engine, "share");
    add("SM busy", job.busy_sm, "share");
    add("Imbalance, 1 − mean/max", job.imbalance, "share");
    add("Burstiness, std/mean", job.burstiness.variation, "");
    add("FLOP use (OFU)", job.flop_use, "share");
    add("GPU memory, highest", job.memory_peak_bytes, "B");
    add("Energy of the GPUs", job.energy_wh, "Wh");
    add("Saturated GPU-h per kWh", job.saturated_hours_per_kwh, "");
    return facts;
}

std::string gpu_models(const GpuReport& gpu) {
    std::string text;
    for (const CeilingFacts& one : gpu.ceilings)
        text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", one.gpus, one.name);
    return text;
}

std::string methods_text(const GpuReport& gpu) {
    return fmt::format(
        "The saturation score is the mean over all GPUs and the whole allocated time of the share of the "
        "highest hardware limit that "
        "was used: tensor, FP64, FP32 and FP16 pipes, corrected for the clock, and DRAM bandwidth, per GPU "
        "and window of {}, "
        "from counters sampled every {}. Time that was not observed counts as idle in the lower and as "
        "saturated in the upper "
        "bound. Limits: {} ({}). The score says how near a job came to its hardware; it does not rank "
        "algorithms.",
        format_duration(window_seconds(gpu.interval_seconds)), format_duration(gpu.interval_seconds),
        gpu.score.calibrated ? "calibrated" : "uncalibrated, from data sheets", gpu.score.ceilings_version);
}

}  // namespace belay::report
