#include "report/charts.h"

#include "report/describe.h"
#include "report/format.h"

#include <algorithm>
#include <functional>
#include <span>

#include <fmt/format.h>

namespace belay::report {

namespace {

constexpr std::array<MetricInfo, kMetricCount> kMetrics = {{
    {Metric::kJobCpu, "job_cpu", "CPU, job", "share", true},
    {Metric::kNodeCpu, "node_cpu", "CPU, whole node", "share", true},
    {Metric::kCpuUser, "cpu_user", "CPU, user", "share", false},
    {Metric::kCpuSystem, "cpu_system", "CPU, system", "share", false},
    {Metric::kCpuIowait, "cpu_iowait", "CPU, waiting for I/O", "share", false},
    {Metric::kCpuOther, "cpu_other", "CPU, interrupts and hypervisor", "share", false},
    {Metric::kJobMemory, "job_memory", "Memory, job", "B", true},
    {Metric::kNodeMemory, "node_memory", "Memory, whole node", "B", true},
    {Metric::kNetworkReceive, "network_receive", "Network, received", "B/s", true},
    {Metric::kNetworkTransmit, "network_transmit", "Network, sent", "B/s", true},
    {Metric::kLoopback, "loopback", "Network, within the node", "B/s", true},
    {Metric::kDiskRead, "disk_read", "Disks, read", "B/s", true},
    {Metric::kDiskWrite, "disk_write", "Disks, written", "B/s", true},
    {Metric::kJobRead, "job_read", "Job, read", "B/s", true},
    {Metric::kJobWrite, "job_write", "Job, written", "B/s", true},
    {Metric::kPressureCpuSome, "pressure_cpu_some", "Waiting for a CPU", "share", true},
    {Metric::kPressureMemorySome, "pressure_memory_some", "Waiting for memory", "share", false},
    {Metric::kPressureMemoryFull, "pressure_memory_full", "Waiting for memory, all", "share", false},
    {Metric::kPressureIoSome, "pressure_io_some", "Waiting for I/O", "share", true},
    {Metric::kPressureIoFull, "pressure_io_full", "Waiting for I/O, all", "share", false},
}};

consteval bool rows_follow_the_enumeration() {
    for (size_t i = 0; i < kMetrics.size(); ++i)
        if (static_cast<size_t>(kMetrics[i].metric) != i) return false;
    return true;
}
static_assert(rows_follow_the_enumeration());

// The smallest, the middle or the largest of the nodes' values in a bucket, those without a value left out.
enum class Choice { kLowest, kMedian, kHighest };

std::vector<double> over_nodes(const Measurements& data, Metric metric, Choice choice) {
    const std::vector<double>& values = data[metric].values;
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

std::vector<double> mean_over_nodes(const Measurements& data, Metric metric) {
    const std::vector<double>& values = data[metric].values;
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

std::vector<double> of_node(const Measurements& data, Metric metric, size_t node) {
    std::span<const double> all(data[metric].values);
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
void add_node_lines(Chart& chart, const Measurements& data, Metric metric, std::string_view suffix,
                    bool dashed, bool below) {
    if (data[metric].empty()) return;
    if (data.nodes.size() <= kMostNodeLines) {
        for (size_t node = 0; node < data.nodes.size(); ++node)
            chart.series.push_back({.label = fmt::format("{}{}", data.nodes[node].name, suffix),
                                    .node = data.nodes[node].name,
                                    .colour = node_colour(node),
                                    .dashed = dashed,
                                    .below = below,
                                    .values = of_node(data, metric, node)});
        return;
    }
    auto add = [&](std::string_view which, Choice choice, std::string_view colour) {
        chart.series.push_back({.label = fmt::format("{}{}", which, suffix),
                                .node = {},
                                .colour = std::string(colour),
                                .dashed = dashed,
                                .below = below,
                                .values = over_nodes(data, metric, choice)});
    };
    add("lowest", Choice::kLowest, "band");
    add("median", Choice::kMedian, "node-0");
    add("highest", Choice::kHighest, "band");
}

void add_if_any(std::vector<Chart>& charts, Chart chart) {
    bool any = std::ranges::any_of(chart.series, [](const Series& series) {
        return std::ranges::any_of(series.values, [](double value) { return !is_missing(value); });
    });
    if (any) charts.push_back(std::move(chart));
}

// One metric, or two of which the second is drawn below the axis.
struct NodeLines {
    std::string_view id, section, title, note;
    Metric metric;
    std::string_view suffix;
    std::optional<Metric> second;
    std::string_view second_suffix;
};

constexpr NodeLines kNodeLines[] = {
    {"job_cpu",
     "processor",
     "CPU use of the job",
     "Of the CPUs allotted to it, per node",
     Metric::kJobCpu,
     "",
     {},
     ""},
    {"node_memory",
     "memory",
     "Memory in use on the node",
     "Everything that is not available to new programs",
     Metric::kNodeMemory,
     "",
     {},
     ""},
    {"job_memory",
     "memory",
     "Resident memory of the job",
     "Summed over its processes; pages that they share count for each",
     Metric::kJobMemory,
     "",
     {},
     ""},
    {"network", "network", "Network traffic",
     "Received above the axis, sent below; loopback and RDMA not included", Metric::kNetworkReceive,
     " received", Metric::kNetworkTransmit, " sent"},
    {"loopback",
     "network",
     "Traffic within the node",
     "Over the loopback interface, between processes of one node",
     Metric::kLoopback,
     "",
     {},
     ""},
    {"disk", "storage", "Traffic of the disks", "Read above the axis, written below; whatever caused it",
     Metric::kDiskRead, " read", Metric::kDiskWrite, " written"},
    {"job_io", "storage", "Storage traffic of the job",
     "Read above the axis, written below; cache hits not included", Metric::kJobRead, " read",
     Metric::kJobWrite, " written"},
};

Chart node_lines(const Measurements& data, const NodeLines& row) {
    Chart chart = on_grid(data, std::string(row.id), std::string(row.section), std::string(row.title),
                          std::string(row.note), std::string(metric_info(row.metric).unit));
    if (data.nodes.size() > kMostNodeLines) chart.kind = ChartKind::kBand;
    if (chart.unit == "share") chart.top = 1;
    add_node_lines(chart, data, row.metric, row.suffix, false, false);
    if (row.second) add_node_lines(chart, data, *row.second, row.second_suffix, false, true);
    return chart;
}

// What the CPUs of a node did, stacked, or the mean of all nodes.
std::vector<Chart> cpu_stacks(const Measurements& data) {
    struct Part {
        Metric metric;
        std::string_view label, colour;
    };
    static constexpr Part kParts[] = {{Metric::kCpuUser, "user", "user"},
                                      {Metric::kCpuSystem, "system", "system"},
                                      {Metric::kCpuIowait, "I/O wait", "iowait"},
                                      {Metric::kCpuOther, "other", "other"}};
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
            if (data[part.metric].empty()) continue;
            chart.series.push_back(
                {.label = std::string(part.label),
                 .node = each ? facts.name : std::string(),
                 .colour = std::string(part.colour),
                 .values = each ? of_node(data, part.metric, node) : mean_over_nodes(data, part.metric)});
        }
        add_if_any(charts, std::move(chart));
    }
    return charts;
}

Chart pressure_chart(const Measurements& data) {
    struct Line {
        Metric metric;
        std::string_view label, colour;
        bool dashed;
    };
    static constexpr Line kLines[] = {
        {Metric::kPressureCpuSome, "CPU", "user", false},
        {Metric::kPressureIoSome, "I/O", "iowait", false},
        {Metric::kPressureIoFull, "I/O full", "iowait", true},
        {Metric::kPressureMemorySome, "memory", "system", false},
        {Metric::kPressureMemoryFull, "memory full", "system", true},
    };
    Chart chart = on_grid(data, "pressure", "processor", "Time spent waiting",
                          "Share of time in which tasks waited, worst node", "share");
    for (const Line& line : kLines) {
        if (data[line.metric].empty()) continue;
        chart.series.push_back({.label = std::string(line.label),
                                .node = {},
                                .colour = std::string(line.colour),
                                .dashed = line.dashed,
                                .values = over_nodes(data, line.metric, Choice::kHighest)});
    }
    return chart;
}

// A chart of one quantity of the progress lines, at the moments at which it was printed.
Chart progress_chart(const Measurements& data, double ProgressPoint::* quantity, std::string id,
                     std::string title, std::string note, std::string unit) {
    Chart chart{.id = id,
                .section = "training",
                .title = std::move(title),
                .note = std::move(note),
                .unit = std::move(unit),
                .top = {},
                .target = {},
                .seconds = {},
                .series = {}};
    Series series{.label = chart.title, .node = {}, .colour = std::move(id), .values = {}};
    for (const ProgressPoint& point : data.progress) {
        if (is_missing(point.*quantity)) continue;
        chart.seconds.push_back(point.seconds);
        series.values.push_back(point.*quantity);
    }
    constexpr size_t kFewPoints = 60;
    if (series.values.size() <= kFewPoints) chart.kind = ChartKind::kPoints;
    chart.series.push_back(std::move(series));
    return chart;
}

void add_training_charts(std::vector<Chart>& charts, const Measurements& data) {
    const ProgressFacts& facts = data.progress_facts;
    add_if_any(charts, progress_chart(data, &ProgressPoint::throughput, "throughput", "Throughput",
                                      "Of the whole job", facts.throughput_unit));
    add_if_any(charts, progress_chart(data, &ProgressPoint::loss, "loss", "Training loss",
                                      "As the training program printed it", ""));
    Chart metric = progress_chart(data, &ProgressPoint::metric, "metric", metric_label(facts),
                                  "On data that it was not trained on", "");
    if (!is_missing(facts.target)) metric.target = ReferenceLine{"target", facts.target};
    add_if_any(charts, std::move(metric));
    Chart rate = progress_chart(data, &ProgressPoint::learning_rate, "learning_rate", "Learning rate",
                                "As the training program printed it", "");
    rate.kind = ChartKind::kSteps;
    add_if_any(charts, std::move(rate));
}

}  // namespace

const std::array<MetricInfo, kMetricCount>& metric_table() {
    return kMetrics;
}

std::vector<Chart> make_charts(const Measurements& data) {
    std::vector<Chart> charts;
    add_training_charts(charts, data);
    for (const NodeLines& row : kNodeLines) {
        // Loopback is worth a chart only where something used it: more than a trickle of control messages.
        constexpr double kTrickle = 10'000;
        if (row.metric == Metric::kLoopback &&
            std::ranges::none_of(data[row.metric].means, [](double mean) { return mean > kTrickle; }))
            continue;
        add_if_any(charts, node_lines(data, row));
        if (row.metric != Metric::kJobCpu) continue;
        add_if_any(charts, pressure_chart(data));
        for (Chart& chart : cpu_stacks(data)) charts.push_back(std::move(chart));
    }
    return charts;
}

std::vector<Section> make_sections(const std::vector<Chart>& charts) {
    static const Section kSections[] = {
        {"training", "Training", "What the training program said about itself"},
        {"processor", "Processors", ""},
        {"memory", "Memory", ""},
        {"network", "Network", ""},
        {"storage", "Storage", ""},
    };
    std::vector<Section> sections;
    for (const Section& section : kSections)
        if (std::ranges::any_of(charts, [&](const Chart& chart) { return chart.section == section.id; }))
            sections.push_back(section);
    return sections;
}

NodeGrid make_grid(const Measurements& data) {
    NodeGrid grid{.bins = data.buckets, .bin_seconds = data.bucket_seconds, .metrics = {}};
    for (const MetricInfo& info : kMetrics) {
        const NodeValues& source = data[info.metric];
        if (source.empty() || !info.in_nodes) continue;
        grid.metrics.push_back({.id = std::string(info.id),
                                .label = std::string(info.label),
                                .unit = std::string(info.unit),
                                .top = info.unit == "share" ? std::optional<double>(1) : std::nullopt,
                                .values = source.values,
                                .means = source.means,
                                .peaks = source.peaks});
    }
    return grid;
}

}  // namespace belay::report
