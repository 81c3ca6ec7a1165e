#include "report/charts.h"
#include "report/format.h"
#include "report/gpu_report.h"
#include "report/gpu_series.h"
#include "report/not_drawn.h"
#include "report/plots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

namespace belay::report {

using score::Digest;
using score::GpuDigest;

namespace {

struct QuantityRow {
    size_t quantity;
    std::string id, label, unit, section, note;
    bool heat;  // always in the heat maps; the others only for few GPUs
};

// Which quantities a report shows of each GPU, in their order. Those of section "gpus" are the small plots.
const std::vector<QuantityRow>& plotted() {
    static const std::vector<QuantityRow> rows = [] {
        std::vector<size_t> order;
        for (size_t i = 0; i < score::kQuantities; ++i)
            if (!schema::kGpuQuantities[i].series.plot.label.empty()) order.push_back(i);
        std::ranges::sort(order, {}, [](size_t i) { return schema::kGpuQuantities[i].series.plot.place; });
        std::vector<QuantityRow> made;
        for (size_t i : order) {
            const schema::SeriesColumn& series = schema::kGpuQuantities[i].series;
            made.push_back({i, plot_id(series), std::string(series.plot.label), plot_unit(series),
                            std::string(series.plot.section), std::string(series.plot.note),
                            series.plot.section.empty()});
        }
        return made;
    }();
    return rows;
}

const std::vector<float>& series(const GpuDigest& gpu, size_t quantity) {
    return gpu.series[quantity];
}

bool any_value(const Digest& digest, size_t quantity) {
    return std::ranges::any_of(digest.gpus, [&](const GpuDigest& gpu) {
        return std::ranges::any_of(series(gpu, quantity), [](float value) { return !std::isnan(value); });
    });
}

struct Part {
    size_t quantity;
    std::string_view label, colour;
};

// Several quantities on top of each other, means of all GPUs.
Chart stack(const Digest& digest, double offset, Chart chart, std::span<const Part> parts) {
    chart.unit = "share";
    chart.kind = ChartKind::kStack;
    chart.top = 1;
    chart.seconds = bucket_centres(digest, offset);
    for (const Part& part : parts)
        if (any_value(digest, part.quantity))
            chart.series.push_back({.label = std::string(part.label),
                                    .node = {},
                                    .colour = std::string(part.colour),
                                    .values = weighted_mean(digest, part.quantity)});
    return chart;
}

// The middle half and the ends are drawn at these ranks of the GPUs that have a value.
constexpr std::array<std::pair<double, std::string_view>, 3> kRanks = {
    {{0.1, "lowest 10 %"}, {0.5, "median"}, {0.9, "highest 10 %"}}};

std::array<std::vector<double>, 3> quantiles(const Digest& digest, size_t quantity) {
    std::array<std::vector<double>, 3> result;
    std::vector<double> present;
    for (size_t bucket = 0; bucket < digest.buckets; ++bucket) {
        present.clear();
        for (const GpuDigest& gpu : digest.gpus)
            if (double value = value_at(gpu, quantity, bucket); !is_missing(value)) present.push_back(value);
        std::ranges::sort(present);
        for (size_t i = 0; i < kRanks.size(); ++i) {
            auto last = static_cast<double>(present.size()) - 1;
            result[i].push_back(present.empty()
                                    ? kMissing
                                    : present[static_cast<size_t>(std::lround(kRanks[i].first * last))]);
        }
    }
    return result;
}

double median_of(std::vector<double> values) {
    if (values.empty()) return kMissing;
    auto middle = values.begin() + std::ssize(values) / 2;
    std::ranges::nth_element(values, middle);
    return *middle;
}

// GPUs whose mean lies far from the others', the farthest first: 3.5 scaled median deviations (Iglewicz and
// Hoaglin 1993) and at least a twentieth of the highest mean, so that equal GPUs have no outliers.
std::vector<size_t> outliers(const Digest& digest, size_t quantity) {
    constexpr size_t kMostOutliers = 3;
    constexpr double kFar = 3.5 * 1.4826;
    constexpr double kLeastShare = 0.05;
    std::vector<double> means;
    double top = 0;
    for (const GpuDigest& gpu : digest.gpus)
        if (double mean = gpu.whole[quantity]; !is_missing(mean)) {
            means.push_back(mean);
            top = std::max(top, mean);
        }
    double median = median_of(means);
    for (double& mean : means) mean = std::abs(mean - median);
    double least = std::max(kFar * median_of(means), kLeastShare * top);
    auto distance = [&](size_t i) { return std::abs(digest.gpus[i].whole[quantity] - median); };
    std::vector<size_t> result;
    for (size_t i = 0; i < digest.gpus.size(); ++i)
        if (distance(i) > least) result.push_back(i);
    std::ranges::stable_sort(result, std::ranges::greater{}, distance);
    if (result.size() > kMostOutliers) result.resize(kMostOutliers);
    return result;
}

std::vector<double> of_gpu(const GpuDigest& gpu, size_t quantity) {
    const std::vector<float>& values = series(gpu, quantity);
    return {values.begin(), values.end()};
}

// Of the whole job, where that is a mean: of some quantities it is the highest.
double mean_of(const GpuDigest& gpu, size_t quantity) {
    return schema::kGpuQuantities[quantity].series.fold == schema::Fold::kMean ? gpu.whole[quantity]
                                                                               : kMissing;
}

void add_spread(Chart& chart, const Digest& digest, size_t quantity) {
    chart.kind = ChartKind::kSpread;
    auto bands = quantiles(digest, quantity);
    for (size_t i = 0; i < bands.size(); ++i)
        chart.series.push_back({.label = std::string(kRanks[i].second),
                                .node = {},
                                .colour = i == 1 ? "node-0" : "band",
                                .values = std::move(bands[i])});
    static constexpr std::array<std::string_view, 3> kColours = {"node-1", "node-3", "node-5"};
    size_t place = 0;
    for (size_t i : outliers(digest, quantity))
        chart.series.push_back({.label = gpu_label(digest.gpus[i]),
                                .node = digest.gpus[i].node,
                                .colour = std::string(kColours[place++]),
                                .values = of_gpu(digest.gpus[i], quantity),
                                .mean = mean_of(digest.gpus[i], quantity)});
}

Chart quantity_chart(const Digest& digest, double offset, const QuantityRow& row) {
    Chart chart{.id = fmt::format("gpu_{}", row.id),
                .section = row.section,
                .title = row.label,
                .note = row.note,
                .unit = row.unit,
                .plots = {row.id},
                .top = row.unit == "share" ? std::optional<double>(1) : std::nullopt,
                .target = {},
                .seconds = bucket_centres(digest, offset),
                .series = {}};
    if (digest.gpus.size() > kMostNodeLines) {
        add_spread(chart, digest, row.quantity);
        return chart;
    }
    for (size_t i = 0; i < digest.gpus.size(); ++i)
        chart.series.push_back({.label = gpu_label(digest.gpus[i]),
                                .node = digest.gpus[i].node,
                                .colour = fmt::format("node-{}", i),
                                .values = of_gpu(digest.gpus[i], row.quantity),
                                .mean = mean_of(digest.gpus[i], row.quantity)});
    return chart;
}

// Means of `factor` neighbouring buckets of every GPU.
std::vector<double> grid_values(const Digest& digest, size_t quantity, size_t bins, size_t factor) {
    std::vector<double> values;
    values.reserve(digest.gpus.size() * bins);
    for (const GpuDigest& gpu : digest.gpus)
        for (size_t bin = 0; bin < bins; ++bin) {
            double sum = 0;
            size_t count = 0;
            for (size_t i = bin * factor; i < std::min((bin + 1) * factor, digest.buckets); ++i) {
                double value = value_at(gpu, quantity, i);
                if (is_missing(value)) continue;
                sum += value;
                ++count;
            }
            values.push_back(count > 0 ? sum / static_cast<double>(count) : kMissing);
        }
    return values;
}

}  // namespace

std::vector<Chart> gpu_charts(const Digest& digest, double offset) {
    static constexpr Part kShares[] = {{score::kSaturated, "saturated", "saturated"},
                                       {score::kUnsaturated, "unsaturated", "unsaturated"},
                                       {score::kGap, "gap", "gap"},
                                       {score::kIdle, "idle", "idle"}};
    static constexpr Part kHeld[] = {{schema::gpu_quantity("power_capped_share"), "power limit", "system"},
                                     {schema::gpu_quantity("thermal_share"), "heat", "iowait"},
                                     {schema::gpu_quantity("slowdown_share"), "hardware", "other"}};
    std::vector<Chart> charts;
    charts.push_back(stack(digest, offset,
                           {.id = "gpu_shares",
                            .section = "score",
                            .title = "Where the time went",
                            .note = "Mean of all GPUs; the lowest area is the score",
                            .top = {},
                            .target = {}},
                           kShares));
    if (!has_data(charts.back())) charts.pop_back();
    for (const QuantityRow& row : plotted()) {
        if (row.section.empty() || !any_value(digest, row.quantity)) continue;
        if (row.section == "gpus" && digest.gpus.size() <= kMostGpuRows) continue;  // small plots show them
        charts.push_back(quantity_chart(digest, offset, row));
    }
    Chart held = stack(digest, offset,
                       {.id = "gpu_held",
                        .section = "power",
                        .title = "Clock held down",
                        .note = "How many GPUs were held down, and by what",
                        .top = {},
                        .target = {}},
                       kHeld);
    for (const Part& part : kHeld)
        held.plots.push_back(plot_id(schema::kGpuQuantities[part.quantity].series));
    held.unit = "GPUs";
    held.top.reset();
    for (Curve& one : held.series)
        for (double& value : one.values) value *= static_cast<double>(digest.gpus.size());
    if (has_data(held)) charts.push_back(std::move(held));
    return charts;
}

std::vector<NotDrawn> gpus_without_data(const Digest& digest) {
    std::vector<NotDrawn> named;
    for (const QuantityRow& row : plotted())
        if (!any_value(digest, row.quantity))
            named.push_back({row.id, row.section.empty() ? std::string(kGpusSection) : row.section, row.label,
                             "not sampled on these GPUs"});
    return named;
}

NodeGrid gpu_grid(const Digest& digest, double offset) {
    // A thousand GPUs get bins of ten minutes in a day: the page stays small, a row is a pixel high anyway.
    constexpr size_t kMostGridCells = 160'000;
    bool few = digest.gpus.size() <= kMostGpuRows;
    size_t cells = digest.gpus.size() * digest.buckets;
    size_t factor = std::max<size_t>(1, (cells + kMostGridCells - 1) / kMostGridCells);
    NodeGrid grid{.bins = (digest.buckets + factor - 1) / factor,
                  .bin_seconds = digest.bucket_seconds * static_cast<double>(factor),
                  .start = offset,
                  .metrics = {}};
    for (const QuantityRow& row : plotted()) {
        if ((!row.heat && (!few || row.section != "gpus")) || !any_value(digest, row.quantity)) continue;
        NodeMetric metric{.id = row.id,
                          .label = row.label,
                          .unit = row.unit,
                          .top = row.unit == "share" ? std::optional<double>(1) : std::nullopt,
                          .values = grid_values(digest, row.quantity, grid.bins, factor),
                          .means = {},
                          .peaks = {}};
        for (const GpuDigest& gpu : digest.gpus) metric.means.push_back(gpu.whole[row.quantity]);
        grid.metrics.push_back(std::move(metric));
    }
    return grid;
}

std::vector<Histogram> histograms(const Digest& digest, double startup_seconds) {
    std::vector<Histogram> result;
    Histogram windows{
        .id = "saturation",
        .label = "Saturation",
        .note = fmt::format("Windows of {}", format_duration(window_seconds(digest.interval_seconds))),
        .shares = std::vector<double>(score::kHistogramBins, 0),
        .startup = {}};
    double total = 0;
    for (const GpuDigest& gpu : digest.gpus)
        for (size_t bin = 0; bin < score::kHistogramBins; ++bin) {
            windows.shares[bin] += gpu.weight * gpu.histogram[bin];
            total += gpu.weight * gpu.histogram[bin];
        }
    for (double& share : windows.shares) share /= total;
    if (total > 0) result.push_back(std::move(windows));
    for (const QuantityRow& row : plotted()) {
        if (!row.heat || row.quantity == score::kSaturated || !any_value(digest, row.quantity)) continue;
        Histogram one{.id = row.id,
                      .label = row.label,
                      .note = fmt::format("Means of {:.3g} s", digest.bucket_seconds),
                      .shares = std::vector<double>(score::kHistogramBins, 0),
                      .startup = {}};
        bool told_apart = startup_seconds > digest.bucket_seconds;
        if (told_apart) one.startup.assign(score::kHistogramBins, 0);
        double weight = 0;
        for (const GpuDigest& gpu : digest.gpus)
            for (size_t bucket = 0; bucket < digest.buckets; ++bucket) {
                double value = value_at(gpu, row.quantity, bucket);
                if (is_missing(value)) continue;
                auto bin = static_cast<size_t>(std::clamp(value, 0.0, 1.0) * score::kHistogramBins);
                bool early = told_apart &&
                             (static_cast<double>(bucket) + 0.5) * digest.bucket_seconds < startup_seconds;
                (early ? one.startup : one.shares)[std::min(bin, score::kHistogramBins - 1)] += gpu.weight;
                weight += gpu.weight;
            }
        for (std::vector<double>* bins : {&one.shares, &one.startup})
            for (double& share : *bins) share /= weight;
        // A pipe that nothing used has one bar, which says nothing.
        double unused = one.shares[0] + (told_apart ? one.startup[0] : 0);
        constexpr double kNearlyAll = 0.999;
        if (unused < kNearlyAll) result.push_back(std::move(one));
    }
    return result;
}

}  // namespace belay::report
