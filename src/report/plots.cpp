#include "report/plots.h"

#include "schema/tables/gpu_digest.h"
#include "schema/tables/node_plots.h"

#include <utility>

namespace belay::report {

std::string plot_id(const schema::SeriesColumn& series) {
    static constexpr std::pair<std::string_view, std::string_view> kEndings[] = {
        {"ratio", "_share"}, {"B/s", "_bytes_per_second"}, {"B", "_bytes"},       {"W", "_watts"},
        {"Hz", "_hertz"},    {"°C", "_celsius"},           {"1/s", "_per_second"}};
    for (auto [unit, ending] : kEndings)
        if (series.unit == unit && series.name.ends_with(ending))
            return std::string(series.name.substr(0, series.name.size() - ending.size()));
    return std::string(series.name);
}

std::string shown_id(std::string_view name) {
    for (const schema::SampledSeries& plot : schema::kNodePlots)
        if (plot.series.name == name) return plot_id(plot.series);
    for (const schema::GpuQuantity& quantity : schema::kGpuQuantities)
        if (quantity.series.name == name) return plot_id(quantity.series);
    return std::string(name);
}

std::string plot_unit(const schema::SeriesColumn& series) {
    return std::string(series.unit == "ratio" ? "share" : series.unit);
}

}  // namespace belay::report
