// What is named instead of drawn: plots in which all is zero, and those without data.
#pragma once

#include "report/measurements.h"
#include "report/model.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::report {

// The sections of the maps.
inline constexpr std::string_view kNodesSection = "nodes";
inline constexpr std::string_view kGpusSection = "gpus";

bool has_data(const Chart& chart);

// Takes the charts without data out of `charts`, and says why there is none.
std::vector<NotDrawn> take_without_data(std::vector<Chart>& charts, const Measurements& data);

// Names what has data, all of which is zero. It stays in the model.
std::vector<NotDrawn> always_zero(std::span<const Chart> charts);
std::vector<NotDrawn> always_zero(const NodeGrid& grid, std::string_view section);

// A chart or a quantity of a map in that section.
bool is_drawn(const ReportModel& model, std::string_view section, std::string_view id);

// The quantities of a map that are drawn.
NodeGrid drawn_grid(const ReportModel& model, const NodeGrid& grid, std::string_view section);

// "Always zero: A; B. No data: C (no samples in the table network)."; empty where all is drawn.
std::string not_drawn_text(const ReportModel& model, std::string_view section);

}  // namespace belay::report
