// What the pages of the report and of the proposal share.
#pragma once

#include "report/model.h"
#include "report/pdf/canvas.h"
#include "report/pdf/plots.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::report {

inline constexpr double kMargin = 46;
inline constexpr double kChartHeight = 128;
inline constexpr double kLineRoom = 24;  // for a line under a heading
inline constexpr double kTextWidth = kPageWidth - 2 * kMargin;

// Goes down the page, and on to the next where there is no room.
class Pages {
  public:
    Pages(Canvas& canvas, const ReportModel& model) : canvas(canvas), model(model) { next(); }

    void next();
    // Goes to the next page unless this much room is left.
    void need(double height);
    // With at least this much room for what follows, or on the next page.
    void heading(std::string_view title, std::string_view note = "", double room = 100);
    double room() const;
    // Continues on the next page if there is not enough room.
    void lines(std::string_view text, const TextStyle& style = {}, double indent = 0);
    // With a little room below.
    void paragraph(std::string_view text, const TextStyle& style = {});
    // At the left of what was written since `top` of that page.
    void bar(size_t page, double top, const Colour& colour);
    using Pair = std::pair<std::string, std::string>;
    // Names and values in as many columns.
    void facts(const std::vector<Pair>& pairs, size_t columns);
    // The charts of a section, two a row.
    void charts(const std::vector<const Chart*>& charts, double height = kChartHeight);
    // Names what the model has of the section and no chart shows.
    void not_drawn(std::string_view section);
    // A row of boxes, of which `draw` is called with each.
    void grid(size_t count, size_t columns, double height, auto&& draw) {
        constexpr double kGap = 16;
        double width = (kTextWidth - kGap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
        for (size_t i = 0; i < count; ++i) {
            if (i % columns == 0) need(height);
            draw(i, Box{kMargin + (width + kGap) * static_cast<double>(i % columns), y, width, height - 10});
            if (i % columns == columns - 1 || i + 1 == count) y += height;
        }
    }
    TimeRange time() const { return {0, model.seconds > 0 ? model.seconds : 1}; }
    // Page numbers and the producer at the foot of each.
    void feet();

    Canvas& canvas;
    const ReportModel& model;
    double y = 0;
};

// Those that are drawn.
std::vector<const Chart*> charts_of(const ReportModel& model, std::string_view section);
void key_figures(Pages& pages);
std::string title_of(const ReportModel& model);
// "job 4711 on alps by mira for cosmo"
std::string where_of(const ReportModel& model);
// Score, word and bounds, large, with the track beneath; no higher than this.
inline constexpr double kScoreHeight = 170;
void score_head(Pages& pages, const score::JobScore& job);
std::vector<Pages::Pair> companion_facts(const score::JobScore& job);
std::string methods_text(const GpuReport& gpu);
std::string gpu_models(const GpuReport& gpu);

}  // namespace belay::report
