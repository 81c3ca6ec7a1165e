#include "report/not_drawn.h"

#include "core/text.h"
#include "report/plots.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::report {

namespace {

constexpr std::string_view kAlwaysZero = "always zero";

bool is_zero(std::span<const double> values) {
    return std::ranges::all_of(values, [](double value) { return is_missing(value) || value == 0; });
}

bool has_data(std::span<const double> values) {
    return !std::ranges::all_of(values, is_missing);
}

// The table whose samples a plot of nodes is made of.
std::string_view table_of(std::string_view plot) {
    for (const schema::SeriesTable& source : schema::kPlotSources)
        for (const schema::SampledSeries& one : source.columns)
            if (plot_id(one.series) == plot) return source.source->name;
    return {};
}

std::string why_no_data(const Chart& chart, const Measurements& data) {
    const std::string table(chart.plots.empty() ? std::string_view() : table_of(chart.plots.front()));
    if (data.samples.of(table).received == 0) return fmt::format("no samples in the table {}", table);
    return "not told by the system of the nodes";
}

}  // namespace

bool has_data(const Chart& chart) {
    return std::ranges::any_of(chart.series, [](const Curve& curve) { return has_data(curve.values); });
}

std::vector<NotDrawn> take_without_data(std::vector<Chart>& charts, const Measurements& data) {
    std::vector<NotDrawn> taken;
    for (const Chart& chart : charts)
        if (!has_data(chart))
            taken.push_back({chart.id, chart.section, chart.title, why_no_data(chart, data)});
    std::erase_if(charts, [](const Chart& chart) { return !has_data(chart); });
    return taken;
}

std::vector<NotDrawn> always_zero(std::span<const Chart> charts) {
    std::vector<NotDrawn> named;
    for (const Chart& chart : charts)
        if (std::ranges::all_of(chart.series, [](const Curve& curve) { return is_zero(curve.values); }))
            named.push_back({chart.id, chart.section, chart.title, std::string(kAlwaysZero)});
    return named;
}

std::vector<NotDrawn> always_zero(const NodeGrid& grid, std::string_view section) {
    std::vector<NotDrawn> named;
    for (const NodeMetric& metric : grid.metrics)
        if (is_zero(metric.values))
            named.push_back({metric.id, std::string(section), metric.label, std::string(kAlwaysZero)});
    return named;
}

bool is_drawn(const ReportModel& model, std::string_view section, std::string_view id) {
    return std::ranges::none_of(model.not_drawn,
                                [&](const NotDrawn& one) { return one.section == section && one.id == id; });
}

NodeGrid drawn_grid(const ReportModel& model, const NodeGrid& grid, std::string_view section) {
    NodeGrid drawn = grid;
    std::erase_if(drawn.metrics,
                  [&](const NodeMetric& metric) { return !is_drawn(model, section, metric.id); });
    return drawn;
}

std::string not_drawn_text(const ReportModel& model, std::string_view section) {
    std::vector<std::pair<std::string_view, std::vector<std::string>>> reasons;
    for (const NotDrawn& one : model.not_drawn) {
        if (one.section != section) continue;
        auto reason = std::ranges::find(reasons, one.why, &decltype(reasons)::value_type::first);
        if (reason == reasons.end()) reason = reasons.insert(reason, {one.why, {}});
        reason->second.push_back(one.title);
    }
    std::vector<std::string> sentences;
    for (const auto& [why, titles] : reasons) {
        const std::string all = core::join(titles, "; ");
        sentences.push_back(why == kAlwaysZero ? fmt::format("Always zero: {}.", all)
                                               : fmt::format("No data: {} ({}).", all, why));
    }
    return core::join(sentences, " ");
}

}  // namespace belay::report
