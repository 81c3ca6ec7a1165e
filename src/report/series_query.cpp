#include "report/series_query.h"

#include "report/query.h"
#include "schema/tables/allocation.h"
#include "schema/tables/filesystem.h"
#include "schema/tables/network.h"

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

constexpr double kSamplesAtOnce = 1e6;  // of one table
constexpr double kEnoughSamples = 10;   // for each bucket, of a table with very many

enum class ColumnKind {
    kGauge,
    kCounter,          // its rate; missing where it went back, which is a reset
    kUnsteadyCounter,  // may go back a little without a reset, as iowait does: then its rate is 0
};

struct SourceColumn {
    std::string_view name;
    ColumnKind kind;
    std::string_view sql;  // over the table's columns
};

struct Output {
    Metric metric;
    std::string_view sql;  // over the names of SourceColumn, summed over what the partition tells apart
};

// One table, or a part of it, and the metrics that come from it.
struct Source {
    std::string_view table;
    std::string_view filter;
    std::string_view partition;  // columns that tell one counter of a node from another
    std::span<const SourceColumn> columns;
    std::span<const Output> outputs;
    std::string_view derived;  // more names for the outputs, from those of the columns
};

using enum ColumnKind;

constexpr SourceColumn kHostColumns[] = {
    {"cpus", kGauge, "cpu_count"},
    {"used", kGauge, "memory_total_bytes - memory_available_bytes"},
    {"user_time", kCounter, "cpu_user_seconds_total"},
    {"system_time", kCounter, "cpu_system_seconds_total"},
    {"iowait_time", kUnsteadyCounter, "cpu_iowait_seconds_total"},
    {"irq_time", kCounter, "cpu_irq_seconds_total"},
    {"steal_time", kCounter, "cpu_steal_seconds_total"},
    {"cpu_some", kCounter, "pressure_cpu_some_seconds_total"},
    {"memory_some", kCounter, "pressure_memory_some_seconds_total"},
    {"memory_full", kCounter, "pressure_memory_full_seconds_total"},
    {"io_some", kCounter, "pressure_io_some_seconds_total"},
    {"io_full", kCounter, "pressure_io_full_seconds_total"},
};
constexpr Output kHostOutputs[] = {
    {Metric::kNodeCpu,
     "(user_time + system_time + coalesce(irq_time, 0) + coalesce(steal_time, 0)) / capacity"},
    {Metric::kCpuUser, "user_time / capacity"},
    {Metric::kCpuSystem, "system_time / capacity"},
    {Metric::kCpuIowait, "iowait_time / capacity"},
    {Metric::kCpuOther, "(coalesce(irq_time, 0) + coalesce(steal_time, 0)) / capacity + 0 * user_time"},
    {Metric::kNodeMemory, "used"},
    {Metric::kPressureCpuSome, "cpu_some"},
    {Metric::kPressureMemorySome, "memory_some"},
    {Metric::kPressureMemoryFull, "memory_full"},
    {Metric::kPressureIoSome, "io_some"},
    {Metric::kPressureIoFull, "io_full"},
};

// The kernel counts CPU time in ticks of 10 ms: over a second the parts may add up to a little more than
// there is.
constexpr std::string_view kCapacity =
    ", greatest(cpus, coalesce(user_time, 0) + coalesce(system_time, 0) + coalesce(iowait_time, 0) + "
    "coalesce(irq_time, 0) + coalesce(steal_time, 0)) AS capacity";

constexpr SourceColumn kProcessColumns[] = {
    {"user_time", kCounter, "cpu_user_seconds_total"},
    {"system_time", kCounter, "cpu_system_seconds_total"},
    {"resident", kGauge, "resident_bytes"},
    {"reads", kCounter, "read_bytes_total"},
    {"writes", kCounter, "written_bytes_total"},
};
constexpr Output kProcessOutputs[] = {
    {Metric::kJobCpu, "user_time + system_time"},  // CPUs in use; divided by those allotted below
    {Metric::kJobMemory, "resident"},
    {Metric::kJobRead, "reads"},
    {Metric::kJobWrite, "writes"},
};

constexpr SourceColumn kNetworkColumns[] = {
    {"receive", kCounter, "receive_bytes_total"},
    {"transmit", kCounter, "transmit_bytes_total"},
};
constexpr Output kNetworkOutputs[] = {
    {Metric::kNetworkReceive, "receive"},
    {Metric::kNetworkTransmit, "transmit"},
};
constexpr Output kLoopbackOutputs[] = {{Metric::kLoopback, "transmit"}};

constexpr SourceColumn kDiskColumns[] = {
    {"reads", kCounter, "read_bytes_total"},
    {"writes", kCounter, "written_bytes_total"},
};
constexpr Output kDiskOutputs[] = {
    {Metric::kDiskRead, "reads"},
    {Metric::kDiskWrite, "writes"},
};

constexpr Source kSources[] = {
    {"host", "true", "", kHostColumns, kHostOutputs, kCapacity},
    {"process", "true", "pid, start_time", kProcessColumns, kProcessOutputs},
    {"network", schema::kOwnTraffic, "device", kNetworkColumns, kNetworkOutputs},
    {"network", "device = 'lo'", "device", kNetworkColumns, kLoopbackOutputs},
    {"filesystem", schema::kOwnDisk, "name", kDiskColumns, kDiskOutputs},
};

std::string rate_sql(const SourceColumn& column, double longest) {
    // greatest() passes over nulls: what is missing must stay missing.
    std::string_view change = column.kind == kUnsteadyCounter
                                  ? "CASE WHEN now_{0} < before_{0} THEN 0 ELSE now_{0} - before_{0} END"
                                  : "CASE WHEN now_{0} >= before_{0} THEN now_{0} - before_{0} END";
    if (column.kind == kGauge) return fmt::format("now_{0} AS {0}", column.name);
    return fmt::format("CASE WHEN step > 0 AND step <= {1} THEN {2} / step END AS {0}", column.name, longest,
                       fmt::format(fmt::runtime(change), column.name));
}

// Of every how many samples one is read.
int64_t thinning(double interval, const Measurements& data) {
    if (!(interval > 0)) return 1;
    return std::max<int64_t>(1, static_cast<int64_t>(data.bucket_seconds / interval / kEnoughSamples));
}

std::string thinned(int64_t every, double interval) {
    if (every == 1) return "true";
    return fmt::format("epoch_us(time) // {} % {} = 0", static_cast<int64_t>(interval * 1e6), every);
}

// samples -> rates of each counter -> sums per node and moment -> the metrics, each over the span of time it
// stands for -> the buckets that the span touches -> one row per node and bucket with mean, peak and seconds
// per metric.
std::string series_sql(const Source& source, double interval, const Measurements& data,
                       const std::string& nodes, int64_t every) {
    std::string columns;
    std::string rates;
    std::string sums;
    std::string metrics;
    std::string cells;
    const std::string some = thinned(every, interval);
    interval *= static_cast<double>(every);
    double longest = kLongestStep * interval;
    for (const SourceColumn& column : source.columns) {
        columns +=
            fmt::format(", {1} AS now_{0}, lag({1}) OVER samples AS before_{0}", column.name, column.sql);
        rates += ", " + rate_sql(column, longest);
        sums += fmt::format(", sum({0}) AS {0}", column.name);
    }
    for (size_t i = 0; i < source.outputs.size(); ++i) {
        metrics += fmt::format(", {} AS m{}", source.outputs[i].sql, i);
        cells += fmt::format(
            ", sum(m{0} * part) / nullif(sum(CASE WHEN m{0} IS NOT NULL THEN part END), 0), max(m{0}), "
            "sum(CASE WHEN m{0} IS NOT NULL THEN part END)",
            i);
    }
    return fmt::format(
        R"(WITH steps AS (
             SELECT node, time, (epoch_us(time) - lag(epoch_us(time)) OVER samples) / 1e6 AS step {columns}
             FROM {table} WHERE {filter} AND {nodes} AND {some}
             WINDOW samples AS (PARTITION BY node {comma} {partition} ORDER BY time)),
           rates AS (SELECT node, time {rates} FROM steps),
           moments AS (SELECT node, (epoch_us(time) - {start}) / 1e6 AS until {sums} FROM rates GROUP BY node, time),
           spans AS (
             SELECT node, until, until - lag(until) OVER (PARTITION BY node ORDER BY until) AS since,
                    until - CASE WHEN since <= {longest} THEN since ELSE {interval} END AS begin {derived} {metrics}
             FROM moments),
           cells AS (
             SELECT *, unnest(range(greatest(floor(begin / {width}), 0)::BIGINT,
                                    least(ceil(until / {width}), {buckets})::BIGINT)) AS bucket,
                    least(until, (bucket + 1) * {width}) - greatest(begin, bucket * {width}) AS part
             FROM spans)
           SELECT node, bucket {cells} FROM cells GROUP BY node, bucket)",
        fmt::arg("columns", columns), fmt::arg("table", source.table), fmt::arg("filter", source.filter),
        fmt::arg("nodes", nodes), fmt::arg("some", some),
        fmt::arg("comma", source.partition.empty() ? "" : ","), fmt::arg("partition", source.partition),
        fmt::arg("rates", rates), fmt::arg("start", core::to_microseconds(data.start)),
        fmt::arg("sums", sums), fmt::arg("longest", longest), fmt::arg("interval", interval),
        fmt::arg("derived", source.derived), fmt::arg("metrics", metrics),
        fmt::arg("width", data.bucket_seconds), fmt::arg("buckets", data.buckets), fmt::arg("cells", cells));
}

// Means of a metric in the making, by node.
struct Tally {
    explicit Tally(size_t nodes) : weighted(nodes, 0), seconds(nodes, 0) {}
    std::vector<double> weighted;
    std::vector<double> seconds;
};

// Takes the three columns of one output.
void take_values(const record::QueryResult& answer, size_t first_column,
                 const std::map<std::string, size_t>& node_index, size_t buckets, NodeValues& target,
                 Tally& tally) {
    for (const auto& row : answer.rows) {
        double mean = record::as_double(row[first_column]);
        auto found = node_index.find(record::as_text(row[0]));
        auto bucket = static_cast<size_t>(record::as_double(row[1]));
        if (is_missing(mean) || found == node_index.end() || bucket >= buckets) continue;
        size_t node = found->second;
        double peak = record::as_double(row[first_column + 1]);
        double seconds = record::as_double(row[first_column + 2]);
        target.values[node * buckets + bucket] = mean;
        if (!(target.peaks[node] > peak)) target.peaks[node] = peak;
        tally.weighted[node] += mean * seconds;
        tally.seconds[node] += seconds;
    }
}

void finish(NodeValues& target, const Tally& tally) {
    for (size_t node = 0; node < tally.seconds.size(); ++node)
        target.means.push_back(tally.seconds[node] > 0 ? tally.weighted[node] / tally.seconds[node]
                                                       : kMissing);
    if (std::ranges::all_of(tally.seconds, [](double seconds) { return seconds == 0; })) target = {};
}

// Conditions that take some nodes at a time, since all samples of those are held at once: a day of 256 nodes
// would take 6 GB.
std::vector<std::string> node_groups(const Measurements& data, double interval) {
    std::vector<std::string> names;
    for (const NodeFacts& node : data.nodes) names.push_back(node.name);
    std::ranges::sort(names);
    const double samples = static_cast<double>(data.buckets) * data.bucket_seconds / std::max(interval, 1e-3);
    const auto each = static_cast<size_t>(std::max(1.0, kSamplesAtOnce / std::max(samples, 1.0)));
    std::vector<std::string> groups;
    for (size_t first = 0; first < names.size(); first += each)
        groups.push_back(fmt::format("node BETWEEN {} AND {}", record::sql_literal(names[first]),
                                     record::sql_literal(names[std::min(first + each, names.size()) - 1])));
    return groups;
}

// CPUs that the job may use on each node in each bucket; of all of the node's where that is not known.
Result<std::vector<double>> allotted_cpus(record::Archive& archive, const Measurements& data,
                                          const std::map<std::string, size_t>& node_index) {
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

Result<> query_series(record::Archive& archive, double interval_seconds, Measurements& data,
                      double many_rows) {
    if (data.buckets == 0 || data.nodes.empty()) return {};
    std::map<std::string, size_t> node_index;
    for (size_t i = 0; i < data.nodes.size(); ++i) node_index[data.nodes[i].name] = i;
    const size_t nodes = data.nodes.size();
    for (const Source& source : kSources) {
        std::vector<Tally> tallies(source.outputs.size(), Tally(nodes));
        for (const Output& output : source.outputs) {
            data[output.metric].values.assign(nodes * data.buckets, kMissing);
            data[output.metric].peaks.assign(nodes, kMissing);
        }
        BELAY_TRY(count, archive.query(fmt::format("SELECT count(*) FROM {}", source.table)));
        const bool is_large = record::as_double(count.rows.at(0)[0]) > many_rows;
        const int64_t every = is_large ? thinning(interval_seconds, data) : 1;
        for (const std::string& group : node_groups(data, interval_seconds * static_cast<double>(every))) {
            BELAY_TRY(answer, archive.query(series_sql(source, interval_seconds, data, group, every)));
            for (size_t i = 0; i < source.outputs.size(); ++i)
                take_values(answer, 2 + 3 * i, node_index, data.buckets, data[source.outputs[i].metric],
                            tallies[i]);
        }
        for (size_t i = 0; i < source.outputs.size(); ++i) finish(data[source.outputs[i].metric], tallies[i]);
    }
    BELAY_TRY(cpus, allotted_cpus(archive, data, node_index));
    divide_by_allotted(data, cpus, data[Metric::kJobCpu]);
    return {};
}

}  // namespace belay::report
