// What the declaration of a quantity (schema/) comes to in a report.
#pragma once

#include "schema/schema.h"

#include <string>
#include <string_view>

namespace belay::report {

// "nvlink" of "nvlink_bytes_per_second": what a plot is called in the page and in JSON.
std::string plot_id(const schema::SeriesColumn& series);

// Of what a rule of findings calls what shows its evidence: the plot of a column, or the name as it is.
std::string shown_id(std::string_view name);

// As the page names it: ratios are shares.
std::string plot_unit(const schema::SeriesColumn& series);

}  // namespace belay::report
