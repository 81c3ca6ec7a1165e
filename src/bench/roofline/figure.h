// The figure of the extended roofline: FLOP/s over FLOP per byte, both logarithmic, a slope for each of memory,
// network and I/O under one flat roof, and for each run a point on each. Data, CSV and a drawing of their own;
// pages that draw for themselves take the data.
#pragma once

#include "bench/roofline/model.h"

#include <span>
#include <string>
#include <vector>

namespace belay::bench::roofline {

struct FigurePoint {
    Resource resource = Resource::kMemory;  // never compute, which has no intensity
    double intensity = 0;                   // f/b, FLOP a byte
    double roof = 0;                        // FLOP/s that the resource allows there: B f/b
};

// One run, of one rank; runs without f, or without a throughput, are not in the figure.
struct FigureRun {
    std::string name;
    double flops_per_second = 0;                           // attained
    std::optional<double> peak = {};                       // F
    std::vector<std::pair<Resource, double>> slopes = {};  // bytes/s, of those that are known
    std::vector<FigurePoint> points = {};
    std::optional<Resource> binds = {};
    double bound = 0;  // FLOP/s that what binds allows; 0 where nothing is known
    bool certain = false;
};

std::vector<FigureRun> figure_of(std::span<const Analysis> analyses);

// A header, and a row for each point and for each flat roof; numbers with all their digits.
std::string figure_csv(std::span<const FigureRun> runs);
// A whole SVG file, of its own colours and without scripts. Without runs it says that there are none.
std::string figure_svg(std::span<const FigureRun> runs);

}  // namespace belay::bench::roofline
