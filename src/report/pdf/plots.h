// Parts of the model drawn into boxes of a page. Each draws its own axes; titles are the pages'.
#pragma once

#include "report/model.h"
#include "report/pdf/canvas.h"

#include <functional>
#include <string_view>

namespace belay::report {

// By the names that the page's style has too (light theme).
Colour named_colour(std::string_view name);
Colour heat_colour(double share);

struct TimeRange {
    double start = 0;
    double end = 1;
};

inline constexpr Colour kInk = rgb(0x14211f);
inline constexpr Colour kSoft = rgb(0x4c5c58);
inline constexpr Colour kLine = rgb(0xdfe4e0);
inline constexpr Colour kSunk = rgb(0xf1f4f2);
inline constexpr Colour kBrand = rgb(0x0f766e);
inline constexpr Colour kRope = rgb(0xd9480f);
inline constexpr Colour kWarning = rgb(0x9a6200);
inline constexpr Colour kBad = rgb(0xc02a1d);

// Title, legend, axes and lines; findings are bars above the plot.
void plot_chart(Canvas& canvas, const Box& box, const Chart& chart, const TimeRange& time,
                const findings::Report* findings, core::Time start);

// 0 to 100 with the bounds, the score and the steady state.
void plot_track(Canvas& canvas, const Box& box, const score::JobScore& job);
// From the observed time down to the score.
void plot_waterfall(Canvas& canvas, const Box& box, const score::Score& score);

void plot_histogram(Canvas& canvas, const Box& box, const Histogram& histogram);
// The score of each GPU, with a line at that of the job.
void plot_balance(Canvas& canvas, const Box& box, const GpuReport& report);
void plot_scatter(Canvas& canvas, const Box& box, const GpuReport& gpu);

// Rows × time of one quantity. So many neighbours are one row, of which the lowest value is shown: of many
// rows a print has no room for each, and what is low must not get lost.
size_t heat_rows_merged(size_t rows);
void plot_heat(Canvas& canvas, const Box& box, const NodeGrid& grid, const NodeMetric& metric,
               const TimeRange& time);
// A row of small plots per GPU, for few of them.
void plot_multiples(Canvas& canvas, const Box& box, const GpuReport& gpu, const TimeRange& time);

}  // namespace belay::report
