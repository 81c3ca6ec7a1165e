// The seven figures of the joint analysis as data: what the page draws and what the CSV files hold.
#pragma once

#include "bench/analysis/placement.h"
#include "bench/analysis/prediction.h"
#include "bench/analysis/system.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

struct Axis {
    std::string label, unit;
    bool logarithmic = true;
    double least = 0, most = 1;  // of what is drawn, with room around it
};

// A point of a scatter: a run, or the mean of a system; `system` is a place in the list of systems, or -1.
struct FigurePoint {
    std::string kind;  // "run", "mean", "predicted"
    int system = -1;
    std::string label;
    double x = 0, y = 0;
    std::optional<double> low, high;  // of y: one deviation
};

struct FigureLine {
    std::string kind;  // "iso", "ellipse", "roof", "fit"
    int system = -1;
    std::string label;
    std::vector<std::array<double, 2>> points;
};

struct FigurePanel {
    std::string id, title, note;
    Axis x, y;
    std::vector<FigurePoint> points;
    std::vector<FigureLine> lines;
};

// A row of bars that begin and end somewhere: parts of a whole, a ratio, or instances over time.
struct BarPart {
    std::string name;
    double from = 0, to = 0;
};
struct BarRow {
    std::string label, note;
    int system = -1;
    std::vector<BarPart> parts;
};

struct Figure {
    int number = 0;
    std::string benchmark = {};
    std::string id, title, note;
    std::string missing;  // why there is nothing to show
    std::vector<FigurePanel> panels;
    std::vector<BarRow> bars;
    std::string bar_unit;  // "share", "s", ""
};

// Lines on which a function of x and y is constant, in a window: x*y = level or y/x = level. At each power of ten of
// level / `scale`, and at 2 and 5 times those if that gives fewer than three.
enum class IsoKind : uint8_t { kProduct, kRatio };
struct IsoLevel {
    double level = 0;  // as it is shown: of x*y / scale, or of y/x / scale
    std::array<std::array<double, 2>, 2> ends{};
};
std::vector<IsoLevel> iso_levels(IsoKind kind, const Axis& x, const Axis& y, double scale);

// One ceiling of a system's roofline, as `belay bench roofline --json` says it.
struct RooflineRun {
    std::string label, benchmark;
    struct Ceiling {
        std::string resource;                      // "compute", "memory", "network", "io"
        std::optional<double> samples_per_second;  // of one rank
    };
    std::vector<Ceiling> ceilings;
    std::string binds;               // empty: not known
    std::optional<double> attained;  // samples/s of one rank
};

// All seven, in order, of each benchmark.
std::vector<Figure> make_figures(std::span<const SystemResult> systems, std::span<const FamilyModel> models,
                                 std::span<const Prediction> predictions,
                                 std::span<const RooflineRun> rooflines);

}  // namespace belay::bench
