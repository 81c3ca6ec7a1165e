// What the queries bring home from a record, and what `assemble` turns into a report: plain values, so that a
// report can be made, and tested, without a database.
#pragma once

#include "record/sample_counts.h"
#include "report/model.h"
#include "schema/tables/node_plots.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::report {

using schema::node_plot;

// Values of one quantity that is plotted: `values[node * buckets + bucket]`, NaN where nothing was measured.
// Empty if the record has none of it at all.
struct NodeValues {
    std::vector<double> values;
    std::vector<double> means;  // per node, over the measured time
    std::vector<double> peaks;  // per node, of single samples

    static NodeValues missing(size_t nodes, size_t buckets) {
        return {.values = std::vector(nodes * buckets, kMissing),
                .means = std::vector(nodes, kMissing),
                .peaks = std::vector(nodes, kMissing)};
    }
    bool empty() const { return values.empty(); }
};

// A line that the training program printed.
struct ProgressPoint {
    double seconds = 0;
    double epoch = kMissing;
    std::optional<int64_t> step;
    double loss = kMissing;
    double metric = kMissing;
    double learning_rate = kMissing;
    double throughput = kMissing;
};

// What it said once.
struct ProgressFacts {
    std::string benchmark;
    std::string metric_key;  // under which the metric was logged, such as eval_error
    double target = kMissing;
    std::string throughput_unit = "samples/s";
};

struct Measurements {
    Job job;
    std::vector<NodeFacts> nodes;
    core::Time start;
    double seconds = 0;  // of the recorded time; the last bucket may reach beyond it
    size_t buckets = 0;
    double bucket_seconds = 0;
    double interval_seconds = 0;                           // of the samples
    std::array<NodeValues, schema::kNodePlotCount> plots;  // by index of schema::kNodePlots
    std::vector<ProgressPoint> progress;                   // ascending in time
    ProgressFacts progress_facts;
    std::vector<Event> events;  // ascending in time
    size_t events_total = 0;
    record::SampleCounts samples;
    std::vector<Gap> gaps;
    size_t gaps_total = 0;
    std::vector<std::string> lost;
    std::vector<FactGroup> facts;
    std::string vetting;  // as in ReportModel
    std::string producer;

    // By node_plot(name).
    NodeValues& operator[](size_t plot) { return plots[plot]; }
    const NodeValues& operator[](size_t plot) const { return plots[plot]; }
};

// Makes the charts, the node grid, the coverage table, the key figures and the sentences.
ReportModel assemble(const Measurements& measurements);

}  // namespace belay::report
