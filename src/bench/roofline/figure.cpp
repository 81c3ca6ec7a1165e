#include "bench/roofline/figure.h"

#include "core/csv.h"
#include "core/utf8.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace belay::bench::roofline {

namespace {

constexpr double kWidth = 820, kHeight = 520;
constexpr double kLeft = 80, kRight = 24, kTop = 24, kBottom = 64;
constexpr double kMargin = 3;  // factor of room around what is drawn

// A palette that people with deficient colour vision tell apart (Okabe and Ito, 2008), by resource.
constexpr std::string_view kColours[] = {"#222222", "#0072b2", "#d55e00", "#009e73"};

std::string_view colour_of(Resource resource) {
    return kColours[index_of(resource)];
}

// Names come from logs of others: nothing of them may act in a page.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char character : text) {
        switch (character) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += static_cast<unsigned char>(character) < ' ' ? ' ' : character;
        }
    }
    return out;
}

// Decades between which a logarithmic axis runs.
struct Axis {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    double from = 0, to = 0;  // pixels

    void include(double value) {
        if (!(value > 0) || !std::isfinite(value)) return;
        low = std::min(low, value), high = std::max(high, value);
    }
    void widen() {
        if (!(high > 0)) low = high = 1;
        low /= kMargin, high *= kMargin;
    }
    double at(double value) const {
        return from + (to - from) * std::log(value / low) / std::log(high / low);
    }
};

struct Drawing {
    Axis x, y;
    std::string out;

    template <typename... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
    }
    void text(double at_x, double at_y, std::string_view anchor, std::string_view colour,
              std::string_view words) {
        add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", at_x, at_y, anchor,
            colour, escaped(words));
    }
    void line(double x0, double y0, double x1, double y1, std::string_view colour, std::string_view more) {
        add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" {}/>\n", x0, y0, x1,
            y1, colour, more);
    }
};

Drawing start_drawing(std::span<const FigureRun> runs) {
    Drawing drawing;
    drawing.x.from = kLeft, drawing.x.to = kWidth - kRight;
    drawing.y.from = kHeight - kBottom, drawing.y.to = kTop;
    for (const FigureRun& run : runs) {
        drawing.y.include(run.flops_per_second);
        if (run.peak) drawing.y.include(*run.peak);
        for (const FigurePoint& point : run.points) drawing.x.include(point.intensity);
        if (run.peak)
            for (const auto& [resource, rate] : run.slopes) drawing.x.include(*run.peak / rate);  // the ridge
    }
    drawing.x.widen();
    drawing.y.widen();
    return drawing;
}

void draw_axes(Drawing& drawing) {
    const Axis& x = drawing.x;
    const Axis& y = drawing.y;
    for (double decade = std::pow(10, std::ceil(std::log10(x.low))); decade <= x.high; decade *= 10) {
        drawing.line(x.at(decade), y.from, x.at(decade), y.to, "#dddddd", "");
        drawing.text(x.at(decade), y.from + 18, "middle", "#444444", fmt::format("{:g}", decade));
    }
    for (double decade = std::pow(10, std::ceil(std::log10(y.low))); decade <= y.high; decade *= 10) {
        drawing.line(x.from, y.at(decade), x.to, y.at(decade), "#dddddd", "");
        drawing.text(x.from - 6, y.at(decade) + 4, "end", "#444444", amount_text(decade, "FLOP/s"));
    }
    drawing.text((x.from + x.to) / 2, kHeight - 16, "middle", "#222222",
                 "FLOP per byte of memory, network or storage (of one sample, one rank)");
}

// The part of y = rate·x below the peak that is within the axes.
void draw_slope(Drawing& drawing, Resource resource, double rate, double peak) {
    const double first = std::max(drawing.x.low, drawing.y.low / rate);
    const double last = std::min({drawing.x.high, peak / rate, drawing.y.high / rate});
    if (!(last > first)) return;
    drawing.line(drawing.x.at(first), drawing.y.at(rate * first), drawing.x.at(last),
                 drawing.y.at(rate * last), colour_of(resource), "stroke-width=\"1.5\"");
    const double middle = std::sqrt(first * last);
    drawing.text(drawing.x.at(middle) - 6, drawing.y.at(rate * middle) - 6, "end", colour_of(resource),
                 fmt::format("{} {}", to_text(resource), amount_text(rate, "B/s")));
}

void draw_roofs(Drawing& drawing, std::span<const FigureRun> runs) {
    std::vector<double> peaks;
    std::vector<std::pair<Resource, double>> slopes;
    for (const FigureRun& run : runs) {
        const double peak = run.peak.value_or(drawing.y.high);
        if (run.peak && std::ranges::find(peaks, peak) == peaks.end()) {
            peaks.push_back(peak);
            double ridge = drawing.x.high;  // where the roof begins to be flat
            for (const auto& [resource, rate] : run.slopes) ridge = std::min(ridge, peak / rate);
            if (run.slopes.empty()) ridge = drawing.x.low;
            drawing.line(drawing.x.at(std::max(ridge, drawing.x.low)), drawing.y.at(peak), drawing.x.to,
                         drawing.y.at(peak), colour_of(Resource::kCompute), "stroke-width=\"1.5\"");
            drawing.text(drawing.x.to - 4, drawing.y.at(peak) - 6, "end", colour_of(Resource::kCompute),
                         "compute " + amount_text(peak, "FLOP/s"));
        }
        for (const auto& slope : run.slopes)
            if (std::ranges::find(slopes, slope) == slopes.end()) {
                slopes.push_back(slope);
                draw_slope(drawing, slope.first, slope.second, peak);
            }
    }
}

void draw_run(Drawing& drawing, const FigureRun& run) {
    double rightmost = 0;
    for (const FigurePoint& point : run.points) {
        const bool binds = run.binds == point.resource;
        rightmost = std::max(rightmost, point.intensity);
        drawing.add(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" "
            "stroke=\"{}\"><title>{}</title></circle>\n",
            drawing.x.at(point.intensity), drawing.y.at(run.flops_per_second), binds ? 6 : 4,
            binds ? colour_of(point.resource) : "#ffffff", colour_of(point.resource),
            escaped(fmt::format("{}, {}: {:.3g} FLOP/B, {:.3g} FLOP/s of {:.3g}", run.name,
                                to_text(point.resource), point.intensity, run.flops_per_second, point.roof)));
    }
    if (run.points.empty()) return;
    std::string words = run.name;
    if (run.binds && run.bound > 0)
        words += fmt::format(": {}{}, {:.0f} %", to_text(*run.binds), run.certain ? "" : "?",
                             100 * run.flops_per_second / run.bound);
    const bool fits = drawing.x.at(rightmost) < kWidth * 0.7;
    drawing.text(drawing.x.at(rightmost) + (fits ? 10 : -10),
                 drawing.y.at(run.flops_per_second) + (fits ? 4 : 20), fits ? "start" : "end", "#222222",
                 words);
}

}  // namespace

std::vector<FigureRun> figure_of(std::span<const Analysis> analyses) {
    std::vector<FigureRun> runs;
    for (const Analysis& analysis : analyses) {
        const auto flops = analysis.attained_flops_per_second();
        if (!flops || !(*flops > 0)) continue;
        FigureRun run{.name = analysis.workload.name,
                      .flops_per_second = *flops,
                      .peak = analysis.machine.rate(Resource::kCompute).value,
                      .binds = analysis.binds,
                      .certain = analysis.certain};
        if (const auto bound = analysis.bound()) run.bound = *bound * *analysis.workload.flops.value;
        for (const Ceiling& ceiling : analysis.ceilings) {
            if (ceiling.resource == Resource::kCompute || !ceiling.rate.value) continue;
            run.slopes.emplace_back(ceiling.resource, *ceiling.rate.value);
            if (ceiling.state == CeilingState::kKnown && std::isfinite(ceiling.intensity))
                run.points.push_back(
                    {ceiling.resource, ceiling.intensity, ceiling.intensity * *ceiling.rate.value});
        }
        runs.push_back(std::move(run));
    }
    return runs;
}

std::string figure_csv(std::span<const FigureRun> runs) {
    std::string out = "run,resource,flop_per_byte,flops_per_second,roof_flops_per_second,binds\n";
    auto row = [&](const FigureRun& run, Resource resource, const std::string& intensity, double roof) {
        fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{}\n", core::csv_field_of(run.name),
                       to_text(resource), intensity, run.flops_per_second, roof,
                       run.binds == resource ? 1 : 0);
    };
    for (const FigureRun& run : runs) {
        if (run.peak) row(run, Resource::kCompute, "", *run.peak);
        for (const FigurePoint& point : run.points)
            row(run, point.resource, fmt::format("{}", point.intensity), point.roof);
    }
    return out;
}

std::string figure_svg(std::span<const FigureRun> runs) {
    Drawing drawing = start_drawing(runs);
    drawing.add(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<title>Extended roofline</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        kWidth, kHeight);
    if (runs.empty()) {
        drawing.text(kWidth / 2, kHeight / 2, "middle", "#222222",
                     "no run with a throughput and a count of FLOP");
    } else {
        draw_axes(drawing);
        draw_roofs(drawing, runs);
        for (const FigureRun& run : runs) draw_run(drawing, run);
    }
    return drawing.out + "</svg>\n";
}

}  // namespace belay::bench::roofline
