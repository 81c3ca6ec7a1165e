#include "report/pdf/plots.h"

#include "report/format.h"
#include "report/gpu_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace belay::report {

namespace {

constexpr std::array<unsigned, 5> kHeat = {0xedf3f0, 0xb3dccb, 0x5bb6a8, 0x1f868f, 0x0f4566};
constexpr TextStyle kTiny{.size = 6.5, .colour = kSoft};

TextStyle tiny(Align align) {
    TextStyle style = kTiny;
    style.align = align;
    return style;
}

void share_axis(Canvas& canvas, const Box& box, std::string_view middle) {
    canvas.text({box.x, box.bottom() + 8}, "0 %", kTiny);
    canvas.text({box.x + box.width / 2, box.bottom() + 8}, middle, tiny(Align::kCentre));
    canvas.text({box.right(), box.bottom() + 8}, "100 %", tiny(Align::kRight));
}

}  // namespace

Colour heat_colour(double share) {
    double at = std::clamp(share, 0.0, 1.0) * (kHeat.size() - 1);
    size_t i = std::min<size_t>(kHeat.size() - 2, static_cast<size_t>(at));
    Colour low = rgb(kHeat[i]);
    Colour high = rgb(kHeat[i + 1]);
    double part = at - static_cast<double>(i);
    return {std::lerp(low.red, high.red, part), std::lerp(low.green, high.green, part),
            std::lerp(low.blue, high.blue, part)};
}

void plot_track(Canvas& canvas, const Box& box, const score::JobScore& job) {
    const score::Score& score = job.score;
    auto x = [&](double value) { return box.x + value / 100 * box.width; };
    canvas.fill(box, kSunk);
    if (is_missing(score.point)) return;
    canvas.fill({box.x, box.y, x(score.point) - box.x, box.height}, kBrand.faded(0.3));
    canvas.fill({x(score.low), box.y, x(score.high) - x(score.low), box.height}, kBrand.faded(0.65));
    canvas.fill({x(score.point) - 1, box.y - 3, 2, box.height + 6}, kInk);
    if (!is_missing(job.steady_state)) {
        double at = x(job.steady_state);
        canvas.area(std::array{Point{at - 3.5, box.y - 6}, Point{at + 3.5, box.y - 6}, Point{at, box.y - 1}},
                    kRope);
    }
    for (int value : {0, 25, 50, 75, 100})
        canvas.text({x(value), box.bottom() + 9}, fmt::format("{}", value),
                    tiny(value == 0     ? Align::kLeft
                         : value == 100 ? Align::kRight
                                        : Align::kCentre));
}

void plot_waterfall(Canvas& canvas, const Box& box, const score::Score& score) {
    struct Part {
        std::string_view name, note, colour;
        double share;
    };
    const Part parts[] = {
        {"Idle", "no engine was active", "idle", score.shares.idle},
        {"Gap", "an engine, but no warp", "gap", score.shares.gap},
        {"Unsaturated", "warps, below every limit", "unsaturated", score.shares.unsaturated},
        {"Saturated", "at a limit: the score", "saturated", score.shares.saturated}};
    constexpr double kNames = 118;
    constexpr double kValues = 34;
    double row = box.height / static_cast<double>(std::size(parts));
    double width = box.width - kNames - kValues;
    double left = 1;
    for (size_t i = 0; i < std::size(parts); ++i) {
        const Part& part = parts[i];
        double y = box.y + row * static_cast<double>(i);
        double share = is_missing(part.share) ? 0 : part.share;
        left -= share;
        canvas.text({box.x, y + row / 2 - 1}, part.name, {.size = 8.5, .bold = true});
        canvas.text({box.x, y + row / 2 + 8}, part.note, kTiny);
        Box bar{box.x + kNames, y + 3, width, row - 6};
        canvas.fill(bar, kSunk);
        canvas.fill({bar.x + std::max(0.0, left) * width, bar.y, share * width, bar.height},
                    named_colour(part.colour));
        canvas.text({box.right(), y + row / 2 + 3}, format_quantity(part.share, "share"),
                    {.size = 9, .bold = true, .align = Align::kRight});
    }
}

void plot_histogram(Canvas& canvas, const Box& box, const Histogram& histogram) {
    canvas.text({box.x, box.y + 9}, histogram.label, {.size = 9, .bold = true});
    canvas.text({box.right(), box.y + 9}, histogram.note, tiny(Align::kRight));
    Box plot{box.x + 26, box.y + 15, box.width - 26, box.height - 29};
    canvas.fill(plot, kSunk);
    double top = 0;
    auto early = [&](size_t i) { return i < histogram.startup.size() ? histogram.startup[i] : 0.0; };
    for (size_t i = 0; i < histogram.shares.size(); ++i) top = std::max(top, histogram.shares[i] + early(i));
    double width = plot.width / static_cast<double>(histogram.shares.size());
    for (size_t i = 0; i < histogram.shares.size() && top > 0; ++i) {
        double height = histogram.shares[i] / top * plot.height;
        double more = early(i) / top * plot.height;
        double x = plot.x + width * static_cast<double>(i);
        canvas.fill({x + 0.5, plot.bottom() - height, width - 1, height}, named_colour("saturated"));
        canvas.fill({x + 0.5, plot.bottom() - height - more, width - 1, more}, named_colour("gap"));
    }
    canvas.text({plot.x - 3, plot.y + 5}, format_quantity(top, "share"), tiny(Align::kRight));
    share_axis(canvas, plot, "50 %");
}

void plot_balance(Canvas& canvas, const Box& box, const GpuReport& report) {
    const std::vector<GpuFacts>& gpus = report.gpus;
    constexpr size_t kFew = 16;
    std::vector<size_t> order(gpus.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::erase_if(order, [&](size_t i) { return is_missing(gpus[i].part.score.point); });
    bool few = gpus.size() <= kFew;
    if (!few)
        std::ranges::stable_sort(order, std::ranges::greater{},
                                 [&](size_t i) { return gpus[i].part.score.point; });
    canvas.text({box.x, box.y + 9}, few ? "Score of each GPU" : "Score of each GPU, highest first",
                {.size = 9, .bold = true});
    Box plot{box.x + 20, box.y + 15, box.width - 20, box.height - 29};
    canvas.fill(plot, kSunk);
    double width = plot.width / static_cast<double>(std::max<size_t>(1, order.size()));
    for (size_t place = 0; place < order.size(); ++place) {
        const GpuFacts& gpu = gpus[order[place]];
        double height = gpu.part.score.point / 100 * plot.height;
        double x = plot.x + width * static_cast<double>(place);
        double margin = few ? width * 0.14 : 0;
        canvas.fill({x + margin, plot.bottom() - height, width - 2 * margin, height},
                    named_colour("saturated"));
        if (few)
            canvas.text({x + width / 2, plot.bottom() + 8}, gpu.label.substr(gpu.label.rfind(':') + 1),
                        tiny(Align::kCentre));
    }
    for (int value : {0, 50, 100})
        canvas.text({plot.x - 3, plot.bottom() - value / 100.0 * plot.height + 2}, fmt::format("{}", value),
                    tiny(Align::kRight));
    if (order.empty()) return;
    double job = plot.bottom() - report.score.score.point / 100 * plot.height;
    canvas.line(std::array{Point{plot.x, job}, Point{plot.right(), job}}, kRope, 0.7, true);
    if (few) return;
    canvas.text({plot.x, plot.bottom() + 8}, gpus[order.front()].label, kTiny);
    canvas.text({plot.right(), plot.bottom() + 8}, gpus[order.back()].label, tiny(Align::kRight));
}

void plot_scatter(Canvas& canvas, const Box& box, const GpuReport& gpu) {
    canvas.text({box.x, box.y + 9}, "Compute against memory", {.size = 9, .bold = true});
    Box plot{box.x + 34, box.y + 15, box.width - 34, box.height - 29};
    canvas.fill(plot, kSunk);
    auto at = [&](double memory, double compute) {
        return Point{plot.x + std::min(memory, 1.0) * plot.width,
                     plot.bottom() - std::min(compute, 1.0) * plot.height};
    };
    canvas.line(std::array{at(0, 0), at(1, 1)}, kSoft, 0.4, true);
    for (size_t i = 0; i < gpu.mix.seconds.size(); ++i)
        if (!is_missing(gpu.mix.memory[i]) && !is_missing(gpu.mix.compute[i]))
            canvas.circle(at(gpu.mix.memory[i], gpu.mix.compute[i]), 0.8,
                          named_colour("compute").faded(0.35));
    double radius = gpu.gpus.size() > 64 ? 1.2 : 2;
    for (const GpuFacts& one : gpu.gpus)
        if (!is_missing(one.memory) && !is_missing(one.compute))
            canvas.circle(at(one.memory, one.compute), radius, named_colour("memory"));
    canvas.text({plot.x - 3, plot.y + 5}, "100 %", tiny(Align::kRight));
    canvas.text({plot.x - 3, plot.y + plot.height / 2}, "compute", tiny(Align::kRight));
    share_axis(canvas, plot, "memory");
}

size_t heat_rows_merged(size_t rows) {
    constexpr size_t kMostRows = 256;
    return std::max<size_t>(1, (rows + kMostRows - 1) / kMostRows);
}

void plot_heat(Canvas& canvas, const Box& box, const NodeGrid& grid, const NodeMetric& metric,
               const TimeRange& time) {
    size_t rows = grid.bins == 0 ? 0 : metric.values.size() / grid.bins;
    double top = metric.top.value_or(0);
    for (double value : metric.values)
        if (!is_missing(value)) top = std::max(top, value);
    canvas.text({box.x, box.y + 9}, metric.label, {.size = 9, .bold = true});
    canvas.text({box.right(), box.y + 9}, fmt::format("0 to {}", format_quantity(top, metric.unit)),
                tiny(Align::kRight));
    Box plot{box.x, box.y + 14, box.width, box.height - 26};
    canvas.hatch(plot);
    size_t merged = heat_rows_merged(rows);
    size_t shown = (rows + merged - 1) / merged;
    double height = plot.height / static_cast<double>(std::max<size_t>(1, shown));
    double second = plot.width / (time.end - time.start);
    for (size_t row = 0; row < shown; ++row) {
        // Runs of cells of one colour are one box: most of a heat map is even.
        constexpr double kSteps = 24;
        auto level = [&](size_t bin) {
            double lowest = 1;
            for (size_t source = row * merged; source < std::min(rows, (row + 1) * merged); ++source) {
                double value = metric.values[source * grid.bins + bin];
                if (is_missing(value)) return -1;
                lowest = std::min(lowest, top > 0 ? value / top : 0);
            }
            return static_cast<int>(std::lround(lowest * kSteps));
        };
        for (size_t bin = 0; bin < grid.bins;) {
            size_t end = bin + 1;
            while (end < grid.bins && level(end) == level(bin)) ++end;
            double from =
                plot.x + (grid.start + static_cast<double>(bin) * grid.bin_seconds - time.start) * second;
            double to = std::min(
                plot.right(),
                plot.x + (grid.start + static_cast<double>(end) * grid.bin_seconds - time.start) * second);
            // A little too wide, so that viewers show no seams.
            constexpr double kSeam = 0.15;
            if (level(bin) >= 0)
                canvas.fill(
                    {from, plot.y + height * static_cast<double>(row), to - from + kSeam, height + kSeam},
                    heat_colour(level(bin) / kSteps));
            bin = end;
        }
    }
    canvas.text({plot.x, plot.bottom() + 8}, format_elapsed(time.start), kTiny);
    canvas.text({plot.right(), plot.bottom() + 8}, format_elapsed(time.end), tiny(Align::kRight));
}

void plot_multiples(Canvas& canvas, const Box& box, const GpuReport& gpu, const TimeRange& time) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kColumns = {
        {{"utilization", "node-0"},
         {"sm", "node-2"},
         {"occupancy", "node-3"},
         {"dram", "node-1"},
         {"tensor", "user"},
         {"nvlink", "loss"}}};
    constexpr double kNames = 56;
    constexpr double kGap = 5;
    std::vector<std::pair<const NodeMetric*, Colour>> columns;
    for (const auto& [id, colour] : kColumns)
        for (const NodeMetric& metric : gpu.grid.metrics)
            if (metric.id == id) columns.emplace_back(&metric, named_colour(colour));
    if (columns.empty()) return;
    double width = (box.width - kNames) / static_cast<double>(columns.size());
    double height = std::min(60.0, (box.height - 24) / static_cast<double>(gpu.gpus.size()));
    for (size_t column = 0; column < columns.size(); ++column) {
        const auto& [metric, colour] = columns[column];
        double top = metric->top.value_or(0);
        for (double value : metric->values)
            if (!is_missing(value)) top = std::max(top, value);
        double left = box.x + kNames + width * static_cast<double>(column);
        canvas.text({left, box.y + 8}, metric->label, {.size = 7.5, .bold = true});
        canvas.text({left, box.y + 16}, fmt::format("to {}", format_quantity(top, metric->unit)),
                    {.size = 6, .colour = kSoft});
        for (size_t row = 0; row < gpu.gpus.size(); ++row) {
            Box cell{left, box.y + 20 + height * static_cast<double>(row), width - kGap, height - 4};
            canvas.fill(cell, kSunk);
            std::vector<Point> outline;
            auto close = [&] {
                if (outline.size() > 1) {
                    outline.insert(outline.begin(), {outline.front().x, cell.bottom()});
                    outline.push_back({outline.back().x, cell.bottom()});
                    canvas.area(outline, colour.faded(0.35));
                    canvas.line(std::span(outline).subspan(1, outline.size() - 2), colour, 0.4);
                }
                outline.clear();
            };
            for (size_t bin = 0; bin < gpu.grid.bins; ++bin) {
                double value = metric->values[row * gpu.grid.bins + bin];
                double begin = gpu.grid.start + static_cast<double>(bin) * gpu.grid.bin_seconds;
                auto x = [&](double second) {
                    return cell.x + (second - time.start) / (time.end - time.start) * cell.width;
                };
                if (is_missing(value)) {
                    close();
                    canvas.fill({x(begin), cell.y,
                                 gpu.grid.bin_seconds / (time.end - time.start) * cell.width, cell.height},
                                kLine);
                    continue;
                }
                outline.push_back({x(begin + gpu.grid.bin_seconds / 2),
                                   cell.bottom() - (top > 0 ? value / top : 0) * (cell.height - 1)});
            }
            close();
        }
    }
    for (size_t row = 0; row < gpu.gpus.size(); ++row) {
        double middle = box.y + 20 + height * (static_cast<double>(row) + 0.5) - 2;
        canvas.text({box.x, middle}, canvas.fitted(gpu.gpus[row].label, kNames - 4, {.size = 6.5}),
                    {.size = 6.5});
        canvas.text({box.x, middle + 8}, fmt::format("S {}", format_score(gpu.gpus[row].part.score.point)),
                    kTiny);
    }
}

}  // namespace belay::report
