// The charts of what was followed per node, and the grid of nodes.
#pragma once

#include "report/charts.h"

#include <string>
#include <vector>

namespace belay::report {

// A chart of each quantity that is declared with one (schema/tables/node_plots.h), and those that show
// several. In their order, even if they have no data.
std::vector<Chart> node_charts(const Measurements& data);

// Adds a chart of which any value is known.
void add_if_any(std::vector<Chart>& charts, Chart chart);

}  // namespace belay::report
