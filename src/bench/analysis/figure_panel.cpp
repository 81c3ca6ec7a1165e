#include "bench/analysis/figure_panel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace belay::bench {

namespace {

void widen(Axis& axis, std::span<const double> values) {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (double value : values) {
        if (!std::isfinite(value) || (axis.logarithmic && !(value > 0))) continue;
        least = std::min(least, value);
        most = std::max(most, value);
    }
    if (!(least <= most)) return;
    if (axis.logarithmic) {
        // A quarter of the range to each side, and a factor of 1.5 at least.
        const double room = std::max(1.5, std::pow(most / least, 0.12));
        axis.least = least / room;
        axis.most = most * room;
    } else {
        const double room = most > least ? (most - least) * 0.12 : std::max(1.0, std::abs(most) * 0.1);
        axis.least = least - room;
        axis.most = most + room;
    }
}

}  // namespace

std::string iso_level_text(double level) {
    if (level >= 1e7 || level < 1) return fmt::format("{:g}", level);
    std::string digits = fmt::format("{:.0f}", level);
    for (auto at = static_cast<ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<size_t>(at), ",");
    return digits;
}

void fit_axes(FigurePanel& panel) {
    std::vector<double> x;
    std::vector<double> y;
    for (const FigurePoint& point : panel.points) {
        x.push_back(point.x);
        y.push_back(point.y);
        if (point.low) y.push_back(*point.low);
        if (point.high) y.push_back(*point.high);
    }
    for (const FigureLine& line : panel.lines) {
        if (line.kind == "iso") continue;
        for (const auto& point : line.points) {
            x.push_back(point[0]);
            y.push_back(point[1]);
        }
    }
    widen(panel.x, x);
    widen(panel.y, y);
}

void add_iso_lines(FigurePanel& panel, IsoKind kind, double scale, std::string_view unit) {
    if (panel.points.empty()) return;
    for (const IsoLevel& level : iso_levels(kind, panel.x, panel.y, scale))
        panel.lines.push_back({.kind = "iso",
                               .label = fmt::format("{} {}", iso_level_text(level.level), unit),
                               .points = {level.ends[0], level.ends[1]}});
}

void add_points(FigurePanel& panel, const Scene& scene, Value x, Value y, std::optional<double> Run::* run_x,
                std::optional<double> Run::* run_y, double x_scale, double y_scale) {
    for (size_t i = 0; i < scene.systems.size(); ++i) {
        const SystemResult& system = scene.systems[i];
        if (!scene.has(system)) continue;
        const auto at_x = x(system);
        const auto at_y = y(system);
        for (size_t index : system.counted) {
            const Run& run = system.runs[index];
            const auto own_x = run_x ? run.*run_x : at_x;
            const auto own_y = run_y ? run.*run_y : at_y;
            if (!(run_x || run_y) || !above_zero(own_x) || !above_zero(own_y)) continue;
            panel.points.push_back({.kind = "run",
                                    .system = static_cast<int>(i),
                                    .label = run.file,
                                    .x = *own_x * (run_x ? x_scale : 1),
                                    .y = *own_y * (run_y ? y_scale : 1),
                                    .low = {},
                                    .high = {}});
        }
        if (above_zero(at_x) && above_zero(at_y))
            panel.points.push_back({.kind = "mean",
                                    .system = static_cast<int>(i),
                                    .label = system.label(),
                                    .x = *at_x * (run_x ? x_scale : 1),
                                    .y = *at_y * (run_y ? y_scale : 1),
                                    .low = {},
                                    .high = {}});
    }
}

std::vector<IsoLevel> iso_levels(IsoKind kind, const Axis& x, const Axis& y, double scale) {
    std::vector<IsoLevel> levels;
    if (!(x.least > 0) || !(x.most > x.least) || !(y.least > 0) || !(y.most > y.least) || !(scale > 0))
        return levels;
    const double least = kind == IsoKind::kProduct ? x.least * y.least : y.least / x.most;
    const double most = kind == IsoKind::kProduct ? x.most * y.most : y.most / x.least;
    // Where the line enters and leaves the window. Null where it only touches a corner.
    auto add = [&](double shown) {
        const double level = shown * scale;
        if (!(level > least) || !(level < most)) return;
        std::array<double, 2> at{};
        if (kind == IsoKind::kProduct)
            at = {std::max(x.least, level / y.most), std::min(x.most, level / y.least)};
        else
            at = {std::max(x.least, y.least / level), std::min(x.most, y.most / level)};
        if (!(at[1] > at[0])) return;
        auto y_at = [&](double where) {
            return std::clamp(kind == IsoKind::kProduct ? level / where : level * where, y.least, y.most);
        };
        levels.push_back({shown, {{{at[0], y_at(at[0])}, {at[1], y_at(at[1])}}}});
    };
    const double first = std::floor(std::log10(least / scale));
    const double last = std::ceil(std::log10(most / scale));
    // A window of that many decades shows no scale; an endless one (from numbers near the largest double) would never end.
    constexpr double kMostDecades = 40;
    if (!(last - first <= kMostDecades)) return levels;
    for (double decade = first; decade <= last; ++decade) add(std::pow(10.0, decade));
    constexpr size_t kFew = 3;
    if (levels.size() >= kFew) return levels;
    levels.clear();
    for (double decade = first; decade <= last; ++decade)
        for (double step : {1.0, 2.0, 5.0}) add(step * std::pow(10.0, decade));
    return levels;
}

}  // namespace belay::bench
