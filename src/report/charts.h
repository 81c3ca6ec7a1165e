// Which charts a report has, and which lines are in them.
#pragma once

#include "report/measurements.h"
#include "report/model.h"

#include <vector>

namespace belay::report {

// Up to this many nodes, each has its own line; above, charts show the lowest, median and highest node.
inline constexpr size_t kMostNodeLines = 6;
// Up to this many nodes, each has its own chart of what its CPUs did; above, one chart shows the mean.
inline constexpr size_t kMostNodeCharts = 4;

// Grouped by section. Those of nodes are included even if they have no data.
std::vector<Chart> make_charts(const Measurements& measurements);

// The sections of the page that the charts and what is named instead need, in order.
std::vector<Section> make_sections(const std::vector<Chart>& charts, const std::vector<NotDrawn>& not_drawn);

// The quantities of the heat map and of the table of nodes.
NodeGrid make_grid(const Measurements& measurements);

}  // namespace belay::report
