// Which charts a report has, and which lines are in them.
#pragma once

#include <vector>

#include "report/measurements.h"
#include "report/model.h"

namespace belay::report {

// Up to this many nodes, each has its own line; above, charts show the lowest, median and highest node.
inline constexpr size_t kMostNodeLines = 6;
// Up to this many nodes, each has its own chart of what its CPUs did; above, one chart shows the mean.
inline constexpr size_t kMostNodeCharts = 4;

// Only charts for which there is data, grouped by section.
std::vector<Chart> make_charts(const Measurements& measurements);

// The sections of the page that the charts need, in order.
std::vector<Section> make_sections(const std::vector<Chart>& charts);

// At most this many cells (nodes × bins) per metric go into the node grid; bins are merged above it.
inline constexpr size_t kMostGridCells = 200'000;

NodeGrid make_grid(const Measurements& measurements);

}  // namespace belay::report
