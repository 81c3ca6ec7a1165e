// The parts of figures: axes that fit, lines of equal cost, points of systems. For figures.cpp only.
#pragma once

#include "bench/analysis/figures.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace belay::bench {

// "1,000", "0.1", "5e-7": what is the same along a line.
std::string iso_level_text(double level);

// Axes that hold all points, and all lines but those of equal cost, with some room.
void fit_axes(FigurePanel& panel);

// Between the axes that fit_axes() has set.
void add_iso_lines(FigurePanel& panel, IsoKind kind, double scale, std::string_view unit);

using Value = std::optional<double> (*)(const SystemResult&);

// What is drawn: of all that was analysed, one benchmark.
struct Scene {
    std::string_view benchmark;
    std::span<const SystemResult> systems;
    bool has(const SystemResult& system) const { return system.benchmark == benchmark; }
};

// The mean of a system at (x, y), and its counted runs where the quantity is one of each.
void add_points(FigurePanel& panel, const Scene& scene, Value x, Value y, std::optional<double> Run::* run_x,
                std::optional<double> Run::* run_y, double x_scale = 1, double y_scale = 1);

}  // namespace belay::bench
