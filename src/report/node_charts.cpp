#include "report/node_charts.h"

#include "report/describe.h"
#include "report/format.h"
#include "report/not_drawn.h"
#include "report/plots.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace belay::report {

namespace {

using schema::kNodePlots;

// The smallest, the middle or the largest of the nodes' values in a bucket, those without a value left out.
enum class Choice { kLowest, kMedian, kHighest };

std::vector<double> over_nodes(const Measurements& data, size_t plot, Choice choice) {
    const std::vector<double>& values = data[plot].values;
    std::vector<double> result(data.buckets, kMissing);
    std::vector<double> present;
    for (size_t bucket = 0; bucket < data.buckets; ++bucket) {
        present.clear();
        for (size_t node = 0; node < data.nodes.size(); ++node)
            if (double value = values[node * data.buckets + bucket]; !is_missing(value))
                present.push_back(value);
        if (present.empty()) continue;
        size_t rank = choice == Choice::kLowest    ? 0
                      : choice == Choice::kHighest ? present.size() - 1
                                                   : present.size() / 2;
        std::ranges::nth_element(present, present.begin() + static_cast<std::ptrdiff_t>(rank));
        result[bucket] = present[rank];
    }
    return result;
}

std::vector<double> mean_over_nodes(const Measurements& data, size_t plot) {
    const std::vector<double>& values = data[plot].values;
    std::vector<double> result(data.buckets, kMissing);
    for (size_t bucket = 0; bucket < data.buckets; ++bucket) {
        double sum = 0;
        size_t count = 0;
        for (size_t node = 0; node < data.nodes.size(); ++node) {
            double value = values[node * data.buckets + bucket];
            if (is_missing(value)) continue;
            sum += value;
            ++count;
        }
        if (count > 0) result[bucket] = sum / static_cast<double>(count);
    }
    return result;
}

std::vector<double> of_node(const Measurements& data, size_t plot, size_t node) {
    std::span<const double> all(data[plot].values);
    auto row = all.subspan(node * data.buckets, data.buckets);
    return {row.begin(), row.end()};
}

Chart on_grid(const Measurements& data, std::string id, std::string section, std::string title,
              std::string note, std::string unit) {
    Chart chart{.id = std::move(id),
                .section = std::move(section),
                .title = std::move(title),
                .note = std::move(note),
                .unit = std::move(unit),
                .top = {},
                .target = {},
                .seconds = {},
                .series = {}};
    chart.seconds.reserve(data.buckets);
    for (size_t i = 0; i < data.buckets; ++i)
        chart.seconds.push_back((static_cast<double>(i) + 0.5) * data.bucket_seconds);
    return chart;
}

std::string node_colour(size_t node) {
    return fmt::format("node-{}", node);
}

// A line per node, or three for all of them.
void add_node_lines(Chart& chart, const Measurements& data, size_t plot, std::string_view suffix, bool dashed,
                    bool below) {
    if (data[plot].empty()) return;
    if (data.nodes.size() <= kMostNodeLines) {
        for (size_t node = 0; node < data.nodes.size(); ++node)
            chart.series.push_back({.label = fmt::format("{}{}", data.nodes[node].name, suffix),
                                    .node = data.nodes[node].name,
                                    .colour = node_colour(node),
                                    .dashed = dashed,
                                    .below = below,
                                    .values = of_node(data, plot, node),
                                    .mean = data[plot].means.at(node)});
        return;
    }
    auto add = [&](std::string_view which, Choice choice, std::string_view colour) {
        chart.series.push_back({.label = fmt::format("{}{}", which, suffix),
                                .node = {},
                                .colour = std::string(colour),
                                .dashed = dashed,
                                .below = below,
                                .values = over_nodes(data, plot, choice)});
    };
    add("lowest", Choice::kLowest, "band");
    add("median", Choice::kMedian, "node-0");
    add("highest", Choice::kHighest, "band");
}

// Charts that show a quantity in another way than all: two of them, of which the second is drawn below the
// axis, or one only where it is more than a trickle.
struct NodeLines {
    std::string_view id, section, title, note;
    int place;  // among those of single quantities
    size_t plot;
    std::string_view suffix = {};
    std::optional<size_t> second = {};
    std::string_view second_suffix = {};
    double trickle = -1;  // no chart where no node's mean is above
};

constexpr NodeLines kNodeLines[] = {
    {"network", "network", "Network traffic",
     "Received above the axis, sent below; loopback and RDMA not included", 50,
     node_plot("network_received_bytes_per_second"), " received", node_plot("network_sent_bytes_per_second"),
     " sent"},
    // More than control messages.
    {"loopback",
     "network",
     "Traffic within the node",
     "Over the loopback interface, between processes of one node",
     70,
     node_plot("loopback_bytes_per_second"),
     "",
     {},
     "",
     10'000},
    {"disk", "storage", "Traffic of the disks", "Read above the axis, written below; whatever caused it", 80,
     node_plot("disk_read_bytes_per_second"), " read", node_plot("disk_written_bytes_per_second"),
     " written"},
    {"job_io", "storage", "Storage traffic of the job",
     "Read above the axis, written below; cache hits not included", 100,
     node_plot("job_read_bytes_per_second"), " read", node_plot("job_written_bytes_per_second"), " written"},
};
constexpr int kPressurePlace = 12;
constexpr int kCpuStacksPlace = 15;

Chart node_lines(const Measurements& data, const NodeLines& row) {
    Chart chart = on_grid(data, std::string(row.id), std::string(row.section), std::string(row.title),
                          std::string(row.note), plot_unit(kNodePlots[row.plot].series));
    chart.plots = {plot_id(kNodePlots[row.plot].series)};
    if (row.second) chart.plots.push_back(plot_id(kNodePlots[*row.second].series));
    if (data.nodes.size() > kMostNodeLines) chart.kind = ChartKind::kBand;
    if (chart.unit == "share") chart.top = 1;
    add_node_lines(chart, data, row.plot, row.suffix, false, false);
    if (row.second) add_node_lines(chart, data, *row.second, row.second_suffix, true, true);
    return chart;
}

// Of one quantity, as it is declared.
Chart quantity_chart(const Measurements& data, size_t plot) {
    const schema::SeriesColumn& series = kNodePlots[plot].series;
    const std::string id = plot_id(series);
    return node_lines(data, {.id = id,
                             .section = series.plot.section,
                             .title = series.plot.title.empty() ? series.plot.label : series.plot.title,
                             .note = series.plot.note,
                             .place = series.plot.place,
                             .plot = plot});
}

// What the CPUs of a node did, stacked, or the mean of all nodes.
std::vector<Chart> cpu_stacks(const Measurements& data) {
    struct Part {
        size_t plot;
        std::string_view label, colour;
    };
    static constexpr Part kParts[] = {{node_plot("cpu_user_share"), "user", "user"},
                                      {node_plot("cpu_system_share"), "system", "system"},
                                      {node_plot("cpu_iowait_share"), "I/O wait", "iowait"},
                                      {node_plot("cpu_other_share"), "other", "other"}};
    bool each = data.nodes.size() <= kMostNodeCharts;
    std::vector<Chart> charts;
    for (size_t node = 0; node < (each ? data.nodes.size() : 1); ++node) {
        const NodeFacts& facts = data.nodes[node];
        std::string name = each ? facts.name : "mean of all nodes";
        std::string note = each && facts.cpus
                               ? "Share of all " + format_count(*facts.cpus, "CPU") + " of the node"
                               : std::string("Share of all CPUs of the node");
        Chart chart = on_grid(data, each ? fmt::format("cpu_{}", node) : "cpu_mean", "processor",
                              fmt::format("What the CPUs did · {}", name), note, "share");
        chart.kind = ChartKind::kStack;
        chart.top = 1;
        for (const Part& part : kParts) {
            chart.plots.push_back(plot_id(kNodePlots[part.plot].series));
            if (data[part.plot].empty()) continue;
            chart.series.push_back(
                {.label = std::string(part.label),
                 .node = each ? facts.name : std::string(),
                 .colour = std::string(part.colour),
                 .values = each ? of_node(data, part.plot, node) : mean_over_nodes(data, part.plot),
                 .mean = each ? data[part.plot].means.at(node) : mean_of(data[part.plot].means)});
        }
        charts.push_back(std::move(chart));
    }
    return charts;
}

Chart pressure_chart(const Measurements& data) {
    struct Line {
        size_t plot;
        std::string_view label, colour;
        bool dashed;
    };
    static constexpr Line kLines[] = {
        {node_plot("cpu_pressure_share"), "CPU", "user", false},
        {node_plot("io_pressure_share"), "I/O", "iowait", false},
        {node_plot("io_stall_share"), "I/O full", "iowait", true},
        {node_plot("memory_wait_share"), "memory", "system", false},
        {node_plot("memory_pressure_share"), "memory full", "system", true},
    };
    Chart chart = on_grid(data, "pressure", "processor", "Time spent waiting",
                          "Share of time in which tasks waited, worst node", "share");
    for (const Line& line : kLines) {
        chart.plots.push_back(plot_id(kNodePlots[line.plot].series));
        if (data[line.plot].empty()) continue;
        chart.series.push_back({.label = std::string(line.label),
                                .node = {},
                                .colour = std::string(line.colour),
                                .dashed = line.dashed,
                                .values = over_nodes(data, line.plot, Choice::kHighest)});
    }
    return chart;
}

}  // namespace

void add_if_any(std::vector<Chart>& charts, Chart chart) {
    if (has_data(chart)) charts.push_back(std::move(chart));
}

std::vector<Chart> node_charts(const Measurements& data) {
    if (data.nodes.empty()) return {};
    std::vector<std::pair<int, Chart>> placed;
    for (size_t plot = 0; plot < kNodePlots.size(); ++plot)
        if (const schema::Plot& declared = kNodePlots[plot].series.plot;
            declared.place > 0 && !declared.section.empty())
            placed.emplace_back(declared.place, quantity_chart(data, plot));
    for (const NodeLines& row : kNodeLines)
        if (row.trickle < 0 ||
            std::ranges::any_of(data[row.plot].means, [&](double mean) { return mean > row.trickle; }))
            placed.emplace_back(row.place, node_lines(data, row));
    placed.emplace_back(kPressurePlace, pressure_chart(data));
    for (Chart& chart : cpu_stacks(data)) placed.emplace_back(kCpuStacksPlace, std::move(chart));
    std::ranges::stable_sort(placed, {}, &std::pair<int, Chart>::first);
    std::vector<Chart> charts;
    for (auto& [place, chart] : placed) charts.push_back(std::move(chart));
    return charts;
}

NodeGrid make_grid(const Measurements& data) {
    NodeGrid grid{.bins = data.buckets, .bin_seconds = data.bucket_seconds, .metrics = {}};
    std::vector<size_t> order;
    for (size_t plot = 0; plot < kNodePlots.size(); ++plot)
        if (kNodePlots[plot].series.plot.place > 0 && !data[plot].empty()) order.push_back(plot);
    std::ranges::stable_sort(order, {}, [](size_t plot) { return kNodePlots[plot].series.plot.place; });
    for (size_t plot : order) {
        const schema::SeriesColumn& series = kNodePlots[plot].series;
        const std::string unit = plot_unit(series);
        grid.metrics.push_back({.id = plot_id(series),
                                .label = std::string(series.plot.label),
                                .unit = unit,
                                .top = unit == "share" ? std::optional<double>(1) : std::nullopt,
                                .values = data[plot].values,
                                .means = data[plot].means,
                                .peaks = data[plot].peaks});
    }
    return grid;
}

}  // namespace belay::report
