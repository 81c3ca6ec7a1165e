#include "report/series_query.h"

#include "record/series/read_spans.h"
#include "report/query.h"
#include "schema/tables/allocation.h"
#include "schema/tables/filesystem.h"
#include "schema/tables/host.h"
#include "schema/tables/network.h"
#include "schema/tables/process.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace belay::report {

using core::Result;

namespace {

using record::Sampled;
using record::SpanInput;
using enum Sampled;

// What is added up over the processes, interfaces or disks of a node at one moment.
using Sums = std::span<const double>;

double or_zero(double value) {
    return is_missing(value) ? 0 : value;
}

// A sum as it is.
template <size_t kInput>
double sum_of(Sums sums) {
    return sums[kInput];
}

enum Host : size_t {
    kCpus,
    kUsedMemory,
    kUser,
    kSystem,
    kIowait,
    kIrq,
    kSteal,
    kCpuSome,
    kMemorySome,
    kMemoryFull,
    kIoSome,
    kIoFull,
};
constexpr SpanInput kHostInputs[] = {
    {kState, "cpu_count"},
    {kState, "memory_total_bytes - memory_available_bytes"},
    {kCounter, "cpu_user_seconds_total"},
    {kCounter, "cpu_system_seconds_total"},
    {kUnsteadyCounter, "cpu_iowait_seconds_total"},
    {kCounter, "cpu_irq_seconds_total"},
    {kCounter, "cpu_steal_seconds_total"},
    {kCounter, "pressure_cpu_some_seconds_total"},
    {kCounter, "pressure_memory_some_seconds_total"},
    {kCounter, "pressure_memory_full_seconds_total"},
    {kCounter, "pressure_io_some_seconds_total"},
    {kCounter, "pressure_io_full_seconds_total"},
};

double other_time(Sums host) {
    return or_zero(host[kIrq]) + or_zero(host[kSteal]);
}

// The kernel counts CPU time in ticks of 10 ms: over a second the parts may add up to a little more than
// there is.
double capacity(Sums host) {
    return std::fmax(host[kCpus], or_zero(host[kUser]) + or_zero(host[kSystem]) + or_zero(host[kIowait]) +
                                      other_time(host));
}

double node_cpu(Sums host) {
    return (host[kUser] + host[kSystem] + other_time(host)) / capacity(host);
}
template <size_t kInput>
double cpu_share(Sums host) {
    return host[kInput] / capacity(host);
}
// Missing where the rest is.
double other_share(Sums host) {
    return other_time(host) / capacity(host) + 0 * host[kUser];
}

struct Output {
    Metric metric;
    record::Formula formula;
};

constexpr Output kHostOutputs[] = {
    {Metric::kNodeCpu, node_cpu},
    {Metric::kCpuUser, cpu_share<kUser>},
    {Metric::kCpuSystem, cpu_share<kSystem>},
    {Metric::kCpuIowait, cpu_share<kIowait>},
    {Metric::kCpuOther, other_share},
    {Metric::kNodeMemory, sum_of<kUsedMemory>},
    {Metric::kPressureCpuSome, sum_of<kCpuSome>},
    {Metric::kPressureMemorySome, sum_of<kMemorySome>},
    {Metric::kPressureMemoryFull, sum_of<kMemoryFull>},
    {Metric::kPressureIoSome, sum_of<kIoSome>},
    {Metric::kPressureIoFull, sum_of<kIoFull>},
};

constexpr SpanInput kProcessInputs[] = {
    {kCounter, "cpu_user_seconds_total"}, {kCounter, "cpu_system_seconds_total"}, {kState, "resident_bytes"},
    {kCounter, "read_bytes_total"},       {kCounter, "written_bytes_total"},
};
constexpr Output kProcessOutputs[] = {
    // CPUs in use; divided by those allotted below.
    {Metric::kJobCpu, [](Sums processes) { return processes[0] + processes[1]; }},
    {Metric::kJobMemory, sum_of<2>},
    {Metric::kJobRead, sum_of<3>},
    {Metric::kJobWrite, sum_of<4>},
};

constexpr SpanInput kNetworkInputs[] = {{kCounter, "receive_bytes_total"},
                                        {kCounter, "transmit_bytes_total"}};
constexpr Output kNetworkOutputs[] = {{Metric::kNetworkReceive, sum_of<0>},
                                      {Metric::kNetworkTransmit, sum_of<1>}};
constexpr Output kLoopbackOutputs[] = {{Metric::kLoopback, sum_of<1>}};

constexpr SpanInput kDiskInputs[] = {{kCounter, "read_bytes_total"}, {kCounter, "written_bytes_total"}};
constexpr Output kDiskOutputs[] = {{Metric::kDiskRead, sum_of<0>}, {Metric::kDiskWrite, sum_of<1>}};

constexpr size_t kProcessKeys[] = {schema::column(schema::kProcess, "pid"),
                                   schema::column(schema::kProcess, "start_time")};
constexpr size_t kNetworkKeys[] = {schema::column(schema::kNetwork, "device")};
constexpr size_t kDiskKeys[] = {schema::column(schema::kFilesystem, "name")};

// One table, or a part of it, and the metrics that come from it.
struct Source {
    const schema::Table* table;
    std::string_view filter;
    std::span<const size_t> keys;
    std::span<const SpanInput> inputs;
    std::span<const Output> outputs;
};

constexpr Source kSources[] = {
    {&schema::kHost, "", {}, kHostInputs, kHostOutputs},
    {&schema::kProcess, "", kProcessKeys, kProcessInputs, kProcessOutputs},
    {&schema::kNetwork, schema::kOwnTraffic, kNetworkKeys, kNetworkInputs, kNetworkOutputs},
    {&schema::kNetwork, "device = 'lo'", kNetworkKeys, kNetworkInputs, kLoopbackOutputs},
    {&schema::kFilesystem, schema::kOwnDisk, kDiskKeys, kDiskInputs, kDiskOutputs},
};

// Of one node: what stood there before goes.
void take(const record::Spans& spans, size_t node, size_t buckets, NodeValues& target) {
    double weighted = 0;
    double seconds = 0;
    double peak = kMissing;
    for (size_t bucket = 0; bucket < buckets; ++bucket) {
        const record::Spans::Cell& cell = spans[bucket];
        target.values[node * buckets + bucket] = cell.mean();
        weighted += cell.weighted;
        seconds += cell.seconds;
        if (cell.seconds > 0 && !(peak >= cell.highest)) peak = cell.highest;
    }
    target.peaks[node] = peak;
    target.means[node] = seconds > 0 ? weighted / seconds : kMissing;
}

Result<> query_source(record::Archive& archive, const Source& source, const record::SpanFrame& frame,
                      const std::map<std::string, size_t, std::less<>>& node_index, Measurements& data) {
    std::vector<record::Formula> formulas;
    for (const Output& output : source.outputs) {
        formulas.push_back(output.formula);
        data[output.metric] = {.values = std::vector(node_index.size() * data.buckets, kMissing),
                               .means = std::vector(node_index.size(), kMissing),
                               .peaks = std::vector(node_index.size(), kMissing)};
    }
    std::vector<std::string> nodes;
    for (const auto& [name, index] : node_index) nodes.push_back(name);
    // Nodes are told of at the same time, each its own places.
    BELAY_CHECK(record::read_spans(
        archive,
        {.table = source.table,
         .filter = source.filter,
         .keys = source.keys,
         .born = {},
         .inputs = source.inputs,
         .outputs = formulas},
        frame, nodes, [&](std::string_view node, std::span<const record::Spans> outputs) {
            auto found = node_index.find(node);
            if (found == node_index.end()) return;
            for (size_t i = 0; i < outputs.size(); ++i)
                take(outputs[i], found->second, data.buckets, data[source.outputs[i].metric]);
        }));
    for (const Output& output : source.outputs)
        if (std::ranges::all_of(data[output.metric].means, is_missing)) data[output.metric] = {};
    return {};
}

// CPUs that the job may use on each node in each bucket; of all of the node's where that is not known.
Result<std::vector<double>> allotted_cpus(record::Archive& archive, const Measurements& data,
                                          const std::map<std::string, size_t, std::less<>>& node_index) {
    std::vector<double> cpus(data.nodes.size() * data.buckets, kMissing);
    BELAY_TRY(levels,
              archive.query(fmt::format(
                  "SELECT node, (epoch_us(t0) - {0}) / 1e6, (epoch_us(t1) - {0}) / 1e6, cpus FROM ({1}) "
                  "WHERE cpus > 0 ORDER BY cpus",
                  core::to_microseconds(data.start), schema::kAllotmentSql)));
    for (const auto& row : levels.rows) {
        auto node = node_index.find(record::as_text(row[0]));
        if (node == node_index.end()) continue;
        const double first = std::clamp(std::floor(record::as_double(row[1]) / data.bucket_seconds), 0.0,
                                        static_cast<double>(data.buckets));
        const double last = std::clamp(std::ceil(record::as_double(row[2]) / data.bucket_seconds), 0.0,
                                       static_cast<double>(data.buckets));
        for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i)
            cpus[node->second * data.buckets + i] = record::as_double(row[3]);
    }
    for (size_t node = 0; node < data.nodes.size(); ++node) {
        const NodeFacts& facts = data.nodes[node];
        const int64_t usual = facts.cpus_allotted.value_or(facts.cpus.value_or(0));
        for (size_t i = node * data.buckets; i < (node + 1) * data.buckets; ++i)
            if (is_missing(cpus[i]) && usual > 0) cpus[i] = static_cast<double>(usual);
    }
    return cpus;
}

// From CPUs in use to the share of those that the job may use. The mean is weighted with the CPUs, so that it
// is the share of what the job was given.
void divide_by_allotted(const Measurements& data, const std::vector<double>& cpus, NodeValues& job_cpu) {
    if (job_cpu.empty()) return;
    for (size_t node = 0; node < data.nodes.size(); ++node) {
        double most = kMissing;
        double sum = 0;
        size_t known = 0;
        for (size_t i = node * data.buckets; i < (node + 1) * data.buckets; ++i) {
            if (is_missing(job_cpu.values[i])) continue;
            job_cpu.values[i] /= cpus[i];
            if (!(most >= cpus[i])) most = cpus[i];
            sum += cpus[i];
            ++known;
        }
        job_cpu.means[node] *= known > 0 ? static_cast<double>(known) / sum : kMissing;
        job_cpu.peaks[node] /= most;
    }
}

}  // namespace

Result<> query_series(record::Archive& archive, double interval_seconds, Measurements& data) {
    if (data.buckets == 0 || data.nodes.empty()) return {};
    std::map<std::string, size_t, std::less<>> node_index;
    for (size_t i = 0; i < data.nodes.size(); ++i) node_index[data.nodes[i].name] = i;
    const record::SpanFrame frame{.start_microseconds = core::to_microseconds(data.start),
                                  .bucket_seconds = data.bucket_seconds,
                                  .buckets = data.buckets,
                                  .interval_seconds = interval_seconds};
    for (const Source& source : kSources) BELAY_CHECK(query_source(archive, source, frame, node_index, data));
    BELAY_TRY(cpus, allotted_cpus(archive, data, node_index));
    divide_by_allotted(data, cpus, data[Metric::kJobCpu]);
    return {};
}

}  // namespace belay::report
