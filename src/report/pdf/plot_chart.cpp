#include "report/format.h"
#include "report/pdf/plots.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace belay::report {

namespace {

struct Named {
    std::string_view name;
    unsigned value;
};
// The light theme of page/report.css.
constexpr Named kColours[] = {
    {"node-0", 0x0b68c1},      {"node-1", 0xd96a0b},        {"node-2", 0x0a8a68},     {"node-3", 0xa8478f},
    {"node-4", 0x35a0d4},      {"node-5", 0x8d6b00},        {"user", 0x14807a},       {"system", 0xe09a24},
    {"iowait", 0xb03a68},      {"other", 0x8a9793},         {"throughput", 0x0f766e}, {"loss", 0x6a4fc3},
    {"metric", 0x0b68c1},      {"learning_rate", 0x6f7f7a}, {"band", 0x7fb0e0},       {"saturated", 0x0f766e},
    {"unsaturated", 0x64b3a4}, {"gap", 0xe0a63a},           {"idle", 0xb9c3be},       {"compute", 0x0b68c1},
    {"memory", 0xd96a0b},      {"network", 0x8a5fb8},
};

struct Scale {
    double low = 0;
    double high = 1;
    Box box;
    TimeRange time;
    double y(double value) const { return box.bottom() - (value - low) / (high - low) * box.height; }
    double x(double second) const {
        return box.x + (second - time.start) / (time.end - time.start) * box.width;
    }
};

// Sums for a stack, negative for what is drawn below the axis.
std::vector<std::vector<double>> drawn_values(const Chart& chart) {
    std::vector<std::vector<double>> values;
    for (const Curve& series : chart.series) {
        std::vector<double> line = series.values;
        if (series.below)
            for (double& value : line) value = -value;
        if (chart.kind == ChartKind::kStack && !values.empty())
            for (size_t i = 0; i < line.size(); ++i) line[i] += values.back()[i];
        values.push_back(std::move(line));
    }
    return values;
}

double nice_step(double range) {
    double step = std::pow(10, std::floor(std::log10(range / 3)));
    for (double factor : {1.0, 2.0, 5.0, 10.0})
        if (range / (step * factor) <= 4.5) return step * factor;
    return step * 10;
}

void set_range(Scale& scale, const Chart& chart, const std::vector<std::vector<double>>& values) {
    double low = 0;
    double high = 0;
    for (const auto& line : values)
        for (double value : line) {
            if (is_missing(value)) continue;
            low = std::min(low, value);
            high = std::max(high, value);
        }
    if (chart.target) high = std::max(high, chart.target->value);
    if (chart.top && high <= *chart.top * 1.001)
        high = *chart.top;
    else
        high *= 1.08;
    scale.low = low * 1.08;
    scale.high = high > scale.low ? high : scale.low + 1;
}

void draw_axes(Canvas& canvas, const Chart& chart, const Scale& scale) {
    TextStyle style{.size = 6.5, .colour = kSoft, .align = Align::kRight};
    double base =
        chart.unit == "B" ? std::pow(1024, std::floor(std::log2(std::max(1.0, scale.high)) / 10)) : 1;
    double step = nice_step((scale.high - scale.low) / base) * base;
    const double first = std::ceil(scale.low / step) * step;
    for (int i = 0; first + i * step <= scale.high * 1.0001; ++i) {
        const double value = first + i * step;
        double y = scale.y(value);
        canvas.line(std::array{Point{scale.box.x, y}, Point{scale.box.right(), y}}, kLine, 0.4);
        canvas.text({scale.box.x - 4, y + 2},
                    format_quantity(std::abs(value) < step / 1000 ? 0 : std::abs(value), chart.unit), style);
    }
    style.align = Align::kLeft;
    canvas.text({scale.box.x, scale.box.bottom() + 8}, format_elapsed(scale.time.start), style);
    style.align = Align::kCentre;
    canvas.text({scale.box.x + scale.box.width / 2, scale.box.bottom() + 8},
                format_elapsed((scale.time.start + scale.time.end) / 2), style);
    style.align = Align::kRight;
    canvas.text({scale.box.right(), scale.box.bottom() + 8}, format_elapsed(scale.time.end), style);
}

// Runs of present values, so that gaps stay gaps.
void for_runs(const std::vector<double>& values, auto&& run) {
    for (size_t begin = 0; begin < values.size();) {
        if (is_missing(values[begin])) {
            ++begin;
            continue;
        }
        size_t end = begin;
        while (end < values.size() && !is_missing(values[end])) ++end;
        run(begin, end);
        begin = end;
    }
}

void draw_area(Canvas& canvas, const Scale& scale, const std::vector<double>& seconds,
               const std::vector<double>& upper, const std::vector<double>* lower, const Colour& colour) {
    for_runs(upper, [&](size_t begin, size_t end) {
        std::vector<Point> outline;
        for (size_t i = begin; i < end; ++i) outline.push_back({scale.x(seconds[i]), scale.y(upper[i])});
        for (size_t i = end; i-- > begin;) {
            double value = lower == nullptr || is_missing((*lower)[i]) ? 0 : (*lower)[i];
            outline.push_back({scale.x(seconds[i]), scale.y(value)});
        }
        canvas.area(outline, colour);
    });
}

void draw_line(Canvas& canvas, const Scale& scale, const Chart& chart, const std::vector<double>& values,
               const Colour& colour, double width, bool dashed) {
    for_runs(values, [&](size_t begin, size_t end) {
        std::vector<Point> points;
        for (size_t i = begin; i < end; ++i) {
            Point point{scale.x(chart.seconds[i]), scale.y(values[i])};
            if (chart.kind == ChartKind::kSteps && !points.empty())
                points.push_back({point.x, points.back().y});
            points.push_back(point);
        }
        if (chart.kind == ChartKind::kPoints || points.size() == 1)
            for (const Point& point : points) canvas.circle(point, 1.1, colour);
        canvas.line(points, colour, width, dashed);
    });
}

void draw_series(Canvas& canvas, const Scale& scale, const Chart& chart,
                 const std::vector<std::vector<double>>& values) {
    constexpr double kBandOpacity = 0.35;
    constexpr double kStackOpacity = 0.8;
    bool band = chart.kind == ChartKind::kBand || chart.kind == ChartKind::kSpread;
    if (chart.kind == ChartKind::kStack)
        for (size_t i = values.size(); i-- > 0;)
            draw_area(canvas, scale, chart.seconds, values[i], i > 0 ? &values[i - 1] : nullptr,
                      named_colour(chart.series[i].colour).faded(kStackOpacity));
    size_t banded = chart.kind == ChartKind::kSpread ? std::min<size_t>(3, values.size()) : values.size();
    for (size_t i = 0; band && i + 2 < banded; i += 3)
        draw_area(canvas, scale, chart.seconds, values[i + 2], &values[i],
                  named_colour("band").faded(kBandOpacity));
    for (size_t i = 0; i < values.size() && chart.kind != ChartKind::kStack; ++i) {
        bool edge = band && i < banded && i % 3 != 1;
        draw_line(canvas, scale, chart, values[i], named_colour(chart.series[i].colour), edge ? 0.3 : 0.7,
                  chart.series[i].dashed);
    }
    if (!chart.target) return;
    double y = scale.y(chart.target->value);
    canvas.line(std::array{Point{scale.box.x, y}, Point{scale.box.right(), y}}, kRope, 0.6, true);
    canvas.text({scale.box.right() - 2, y - 2},
                fmt::format("{} {}", chart.target->label, format_quantity(chart.target->value, chart.unit)),
                {.size = 6.5, .colour = kRope, .align = Align::kRight});
}

// A line, or both edges of a band as one.
struct Key {
    std::string label;
    Colour colour;
    bool dashed = false;
    bool is_area = false;
    Point at = {};  // from the left upper corner of the legend
};

std::vector<Key> legend_keys(const Chart& chart) {
    std::vector<Key> keys;
    for (size_t i = 0; i < chart.series.size(); ++i) {
        const Curve& series = chart.series[i];
        const bool spread = chart.kind == ChartKind::kSpread && i < 3;
        const bool banded = spread || chart.kind == ChartKind::kBand;
        if (banded && i % 3 == 2) continue;
        Key key{.label = series.label,
                .colour = named_colour(series.colour),
                .dashed = series.dashed,
                .is_area = chart.kind == ChartKind::kStack || (banded && i % 3 == 0)};
        if (spread && i == 0) key.label = "middle 80 %";
        if (chart.kind == ChartKind::kBand && i % 3 == 0) key.label.replace(0, 6, "lowest to highest");
        keys.push_back(std::move(key));
    }
    return keys;
}

constexpr TextStyle kKeyStyle{.size = 6.5, .colour = kSoft};
constexpr double kKeyRow = 9;

// Places them in rows of that width, and returns how many rows they take.
size_t place_keys(const Canvas& canvas, std::vector<Key>& keys, double width) {
    Point at;
    for (Key& key : keys) {
        const double wide = 14.5 + canvas.text_width(key.label, kKeyStyle);
        if (at.x > 0 && at.x + wide > width) at = {0, at.y + kKeyRow};
        key.at = at;
        at.x += wide + 5;
    }
    return keys.empty() ? 0 : static_cast<size_t>(at.y / kKeyRow) + 1;
}

void draw_legend(Canvas& canvas, const Point& corner, const std::vector<Key>& keys) {
    for (const Key& key : keys) {
        const double x = corner.x + key.at.x, y = corner.y + key.at.y;
        if (key.is_area)
            canvas.fill({x, y - 5, 9, 4}, key.colour);
        else
            canvas.line(std::array{Point{x, y - 2.5}, Point{x + 9, y - 2.5}}, key.colour, 1.4, key.dashed);
        canvas.text({x + 12, y}, key.label, kKeyStyle);
    }
}

void draw_findings(Canvas& canvas, const Scale& scale, const findings::Report* found, core::Time start) {
    if (found == nullptr) return;
    auto place = [&](core::Time time) {
        return std::clamp(scale.x(core::to_seconds(time - start)), scale.box.x, scale.box.right());
    };
    for (const findings::Finding& finding : found->findings) {
        if (finding.severity == findings::Severity::kInfo) continue;
        const double from = place(finding.start), to = place(finding.end);
        canvas.fill({from, scale.box.y - 2.5, std::max(0.8, to - from), 1.5},
                    finding.severity == findings::Severity::kCritical ? kBad : kWarning);
    }
}

}  // namespace

Colour named_colour(std::string_view name) {
    for (const Named& colour : kColours)
        if (colour.name == name) return rgb(colour.value);
    return kSoft;
}

void plot_chart(Canvas& canvas, const Box& box, const Chart& chart, const TimeRange& time,
                const findings::Report* findings, core::Time start) {
    constexpr double kAxisWidth = 42;
    canvas.text({box.x, box.y + 9}, canvas.fitted(chart.title, box.width, {.size = 9, .bold = true}),
                {.size = 9, .bold = true});
    std::vector<Key> keys = chart.series.size() > 1 ? legend_keys(chart) : std::vector<Key>();
    const double head = 18 + kKeyRow * static_cast<double>(place_keys(canvas, keys, box.width));
    draw_legend(canvas, {box.x, box.y + 19}, keys);
    Scale scale{.box = {box.x + kAxisWidth, box.y + head, box.width - kAxisWidth - 4, box.height - head - 14},
                .time = time};
    std::vector<std::vector<double>> values = drawn_values(chart);
    set_range(scale, chart, values);
    canvas.fill(scale.box, kSunk);
    draw_axes(canvas, chart, scale);
    draw_series(canvas, scale, chart, values);
    draw_findings(canvas, scale, findings, start);
}

}  // namespace belay::report
