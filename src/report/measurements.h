// What the queries bring home from a record, and what `assemble` turns into a report: plain values, so that a
// report can be made, and tested, without a database.
#pragma once

#include "report/model.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::report {

// The quantities that are followed per node. Job means: summed over the job's processes on the node.
enum class Metric : uint8_t {
    kJobCpu,   // of the CPUs allotted to the job on the node
    kNodeCpu,  // of all CPUs of the node, busy with anything
    kCpuUser,  // kCpuUser, kCpuSystem, kCpuIowait, kCpuOther: of all CPUs of the node; add up to at most 1
    kCpuSystem,
    kCpuIowait,
    kCpuOther,    // interrupts and time taken by a hypervisor
    kJobMemory,   // resident; pages shared between processes count for each
    kNodeMemory,  // total less available
    kNetworkReceive,
    kNetworkTransmit,
    kLoopback,
    kDiskRead,
    kDiskWrite,
    kJobRead,
    kJobWrite,
    kPressureCpuSome,
    kPressureMemorySome,
    kPressureMemoryFull,
    kPressureIoSome,
    kPressureIoFull,
};
inline constexpr size_t kMetricCount = 20;

struct MetricInfo {
    Metric metric;
    std::string_view id;
    std::string_view label;
    std::string_view unit;
    bool in_nodes;  // in the heat map and the table of nodes, not only in charts
};

// One row per Metric, in its order.
const std::array<MetricInfo, kMetricCount>& metric_table();

inline const MetricInfo& metric_info(Metric metric) {
    return metric_table()[static_cast<size_t>(metric)];
}

// Values of one metric: `values[node * buckets + bucket]`, NaN where nothing was measured. Empty if the
// record has none of it at all.
struct NodeValues {
    std::vector<double> values;
    std::vector<double> means;  // per node, over the measured time
    std::vector<double> peaks;  // per node, of single samples

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

struct CoverageRow {
    std::string node;
    std::string table;
    int64_t expected = 0;
    int64_t received = 0;
};

struct Measurements {
    Job job;
    std::vector<NodeFacts> nodes;
    core::Time start;
    double seconds = 0;  // of the recorded time; the last bucket may reach beyond it
    size_t buckets = 0;
    double bucket_seconds = 0;
    std::array<NodeValues, kMetricCount> metrics;
    std::vector<ProgressPoint> progress;  // ascending in time
    ProgressFacts progress_facts;
    std::vector<Event> events;  // ascending in time
    size_t events_total = 0;
    std::vector<CoverageRow> coverage;
    std::vector<Gap> gaps;
    size_t gaps_total = 0;
    std::vector<std::string> lost;
    std::vector<FactGroup> facts;
    std::string vetting;  // as in ReportModel
    std::string producer;

    NodeValues& operator[](Metric metric) { return metrics[static_cast<size_t>(metric)]; }
    const NodeValues& operator[](Metric metric) const { return metrics[static_cast<size_t>(metric)]; }
};

// Makes the charts, the node grid, the coverage table, the key figures and the sentences.
ReportModel assemble(const Measurements& measurements);

}  // namespace belay::report
