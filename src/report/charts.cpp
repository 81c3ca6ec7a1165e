#include "report/charts.h"

#include "report/describe.h"
#include "report/node_charts.h"

#include <algorithm>
#include <iterator>

namespace belay::report {

namespace {

// A chart of one quantity of the progress lines, at the moments at which it was printed.
Chart progress_chart(const Measurements& data, double ProgressPoint::* quantity, std::string id,
                     std::string title, std::string note, std::string unit) {
    Chart chart{.id = id,
                .section = "training",
                .title = std::move(title),
                .note = std::move(note),
                .unit = std::move(unit),
                .plots = {id},
                .top = {},
                .target = {},
                .seconds = {},
                .series = {}};
    Curve series{.label = chart.title, .node = {}, .colour = std::move(id), .values = {}};
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
    Chart throughput =
        progress_chart(data, &ProgressPoint::throughput, "throughput", "Throughput",
                       "Of the whole job; the mean leaves out its first steps", facts.throughput_unit);
    throughput.series[0].mean = steady_throughput(data).mean;
    add_if_any(charts, std::move(throughput));
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

std::vector<Chart> make_charts(const Measurements& data) {
    std::vector<Chart> charts;
    add_training_charts(charts, data);
    std::ranges::move(node_charts(data), std::back_inserter(charts));
    return charts;
}

std::vector<Section> make_sections(const std::vector<Chart>& charts, const std::vector<NotDrawn>& not_drawn) {
    static const Section kSections[] = {
        {"training", "Training", "What the training program said about itself"},
        {"processor", "Processors", ""},
        {"memory", "Memory", ""},
        {"network", "Network", ""},
        {"storage", "Storage", ""},
    };
    std::vector<Section> sections;
    for (const Section& section : kSections)
        if (std::ranges::find(charts, section.id, &Chart::section) != charts.end() ||
            std::ranges::find(not_drawn, section.id, &NotDrawn::section) != not_drawn.end())
            sections.push_back(section);
    return sections;
}

}  // namespace belay::report
