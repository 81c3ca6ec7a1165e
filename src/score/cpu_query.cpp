#include "record/series/allotment.h"
#include "record/series/read_spans.h"
#include "schema/tables/sampled_series.h"
#include "score/cpu_score.h"

#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include <fmt/format.h>

namespace belay::score {

using core::Result;

namespace {

// As in the rule `neighbour`: counters of two nodes that differ by less are those of one machine, looked for
// in jobs of this many nodes at most.
constexpr double kSameMachine = 0.002;
constexpr int kMostNodes = 256;
// Between the first and the last sample of a node, for its use to be known (Belay's choice).
constexpr double kLeastSampledSeconds = 1;
constexpr double kLeastSampledShare = 0.5;  // of the job's time

constexpr const char* kNodes = R"(
    WITH held AS (SELECT *, (epoch_us(t1) - epoch_us(t0)) / 1e6 AS seconds FROM ({allotment}) WHERE cpus > 0),
         -- In the mean of the time in which any step ran.
         span AS (
           SELECT node, sum(cpus * seconds) / sum(seconds) AS cpus, min(t0) AS t0, sum(seconds) AS seconds
           FROM held GROUP BY node),
         taken AS (
           SELECT node, sum(received) / nullif(sum(expected), 0) AS share
           FROM coverage WHERE table_name = 'process' GROUP BY node),
         rates AS (
           SELECT node, type, cpus, method,
                  value * CASE unit WHEN 'FLOP/s' THEN 1 WHEN 'MFLOP/s' THEN 1e6 WHEN 'GFLOP/s' THEN 1e9 WHEN 'TFLOP/s' THEN 1e12
                                    WHEN 'bytes/s' THEN 1 END AS rate
           FROM vetting WHERE type IN ('cpu.gemm', 'cpu.sgemm', 'cpu.stream') AND value > 0),
         top AS (
           SELECT node, max(rate) FILTER (type = 'cpu.gemm') AS gemm, arg_max(cpus, rate) FILTER (type = 'cpu.gemm') AS gemm_cpus,
                  max(rate) FILTER (type = 'cpu.sgemm') AS sgemm, arg_max(cpus, rate) FILTER (type = 'cpu.sgemm') AS sgemm_cpus,
                  max(rate) FILTER (type = 'cpu.stream') AS stream, arg_max(cpus, rate) FILTER (type = 'cpu.stream') AS stream_cpus,
                  bool_and(coalesce(method LIKE 'OpenBLAS%', false)) FILTER (type <> 'cpu.stream') AS is_blas
           FROM rates GROUP BY node),
         -- Of the node as a whole, from the first to the last sample.
         machine AS (
           SELECT host.node, max(cpu_count) AS cpus, max(forks_total) AS forks, max(cpu_user_seconds_total) AS busy, count(*) OVER () AS nodes,
                  max(used) - min(used) AS used, (epoch_us(max(host.time)) - epoch_us(min(host.time))) / 1e6 AS seconds
           FROM (SELECT *, cpu_user_seconds_total + cpu_system_seconds_total +
                           coalesce(cpu_irq_seconds_total, 0) AS used FROM host) host
           GROUP BY host.node),
         -- Nodes with the same counters are one machine (several slurmd on a host), looked for in small jobs.
         machines AS (
           SELECT a.node, min(b.node) AS machine FROM machine a JOIN machine b
             ON a.node = b.node OR (a.nodes <= {most_nodes} AND abs(a.forks - b.forks) <= {same} * a.forks AND
                                    abs(a.busy - b.busy) <= {same} * a.busy)
           GROUP BY a.node)
    SELECT span.node, span.cpus, span.seconds, span.seconds * coalesce(taken.share, 1), epoch_us(span.t0),
           coalesce(top.gemm, 0), coalesce(top.gemm_cpus, 0), coalesce(top.sgemm, 0), coalesce(top.sgemm_cpus, 0),
           coalesce(top.stream, 0), coalesce(top.stream_cpus, 0), coalesce(top.is_blas, false)::INTEGER,
           coalesce(machine.cpus, 0),
           -- A few moments do not tell what happened in all of the time.
           CASE WHEN machine.seconds >= greatest({least_seconds}, {least_share} * span.seconds)
                THEN least(machine.used * span.seconds / machine.seconds, machine.cpus * span.seconds) END,
           machines.machine
    FROM span LEFT JOIN taken ON taken.node = span.node
         LEFT JOIN top ON top.node = span.node
         LEFT JOIN machine ON machine.node = span.node
         LEFT JOIN machines ON machines.node = span.node
    WHERE span.seconds > 0 ORDER BY span.node)";

// Each figure is a mean over the time since the same task's last figures of the same source, or since a later
// mark that something started (epoch_start); the first over that since the source's first line. Of ranks that
// all print the job's figure one counts. Figures that come with a mark are of the time before it. Where a
// precision is told, what is told without one is their sum.
constexpr const char* kWork = R"(
    WITH lines AS (
           SELECT *, coalesce(flops_per_second, fp64_flops_per_second, fp32_flops_per_second, memory_bytes_per_second) IS NOT NULL AS tells,
                  row_number() OVER (PARTITION BY node, task, source ORDER BY time, tells DESC) = 1 AS is_first
           FROM progress),
         steps AS (
           SELECT task, flops_per_second AS flops, fp64_flops_per_second AS doubles, fp32_flops_per_second AS singles,
                  memory_bytes_per_second AS bytes,
                  (epoch_us(time) - lag(epoch_us(time)) OVER (PARTITION BY node, task, source ORDER BY time, tells DESC)) / 1e6 AS seconds
           FROM lines WHERE tells OR is_first OR ends_with(key, '_start')),
         tasks AS (
           SELECT task, sum(flops * seconds) FILTER (flops >= 0) AS flop, sum(doubles * seconds) FILTER (doubles >= 0) AS doubles,
                  sum(singles * seconds) FILTER (singles >= 0) AS singles, sum(bytes * seconds) FILTER (bytes >= 0) AS bytes,
                  sum(seconds) FILTER (coalesce(flops, doubles, singles, bytes) IS NOT NULL) AS seconds
           FROM steps WHERE seconds > 0 GROUP BY task)
    SELECT max(doubles), coalesce(max(singles), CASE WHEN max(doubles) IS NULL THEN max(flop) END), max(bytes),
           coalesce(max(seconds), 0), (SELECT count(*) FROM lines WHERE least(flops_per_second, fp64_flops_per_second,
               fp32_flops_per_second, memory_bytes_per_second) < 0) FROM tasks)";

constexpr schema::SampledSeries kCpusUsed = schema::series_named(schema::kProcessSeriesColumns, "cpus_used");
constexpr record::SpanInput kCpuSeconds[] = {{kCpusUsed.sampled, kCpusUsed.sql}};
constexpr record::SpanOutput kBusy[] = {
    {[](std::span<const double> sums) { return sums[0]; }, schema::Fold::kIncrease}};

// CPU time of the processes of each node. One that started with the job, to a second, has spent all its time
// in it, another what it spent since it was first seen.
Result<std::map<std::string, double>> read_busy_seconds(record::Archive& archive,
                                                        const std::vector<NodeCpus>& of, double held_from) {
    if (of.empty()) return {};
    std::vector<std::string> nodes;
    for (const NodeCpus& node : of) nodes.push_back(node.node);
    std::map<std::string, double> busy;  // nodes are told of at the same time
    std::mutex mutex;
    BELAY_CHECK(record::read_spans(archive,
                                   {.table = &schema::kProcess,
                                    .filter = {},
                                    .keys = schema::kProcessIdentity,
                                    .born = schema::kProcessBorn,
                                    .inputs = kCpuSeconds,
                                    .outputs = kBusy},
                                   record::one_span(static_cast<int64_t>(held_from - 1e6)), std::move(nodes),
                                   [&](std::string_view node, std::span<const record::Spans> outputs) {
                                       const std::scoped_lock lock(mutex);
                                       busy[std::string(node)] = outputs[0][0].increase;
                                   }));
    return busy;
}

}  // namespace

Result<CpuUse> read_cpu_use(record::Archive& archive) {
    CpuUse use;
    BELAY_TRY(rows,
              archive.query(fmt::format(kNodes, fmt::arg("allotment", record::kAllotmentSql),
                                        fmt::arg("most_nodes", kMostNodes), fmt::arg("same", kSameMachine),
                                        fmt::arg("least_seconds", kLeastSampledSeconds),
                                        fmt::arg("least_share", kLeastSampledShare))));
    double held_from = std::numeric_limits<double>::infinity();
    for (const auto& row : rows.rows) {
        use.nodes.push_back(
            {.node = record::as_text(row[0]),
             .cpus = record::as_double(row[1]),
             .held_seconds = record::as_double(row[2]),
             .sampled_seconds = record::as_double(row[3]),
             .busy_seconds = 0,
             .node_cpus = record::as_double(row[12]),
             .others_seconds = record::as_double(row[13]),
             .ceilings = {.double_flops = {record::as_double(row[5]), record::as_double(row[6])},
                          .single_flops = {record::as_double(row[7]), record::as_double(row[8])},
                          .bytes = {record::as_double(row[9]), record::as_double(row[10])},
                          .is_blas = record::as_double(row[11]) > 0}});
        held_from = std::fmin(held_from, record::as_double(row[4]));
    }
    BELAY_TRY(busy, read_busy_seconds(archive, use.nodes, held_from));
    std::map<std::string, double> own;  // of all nodes that are one machine
    for (size_t i = 0; i < use.nodes.size(); ++i) {
        NodeCpus& node = use.nodes[i];
        if (auto found = busy.find(node.node); found != busy.end())
            node.busy_seconds = std::isnan(found->second) ? 0 : found->second;
        own[record::as_text(rows.rows[i][14])] += node.busy_seconds;
    }
    for (size_t i = 0; i < use.nodes.size(); ++i)
        if (double& others = use.nodes[i].others_seconds; !std::isnan(others))
            others = std::max(0.0, others - own[record::as_text(rows.rows[i][14])]);
    BELAY_TRY(work, archive.query(kWork));
    use.work = {.double_flop = record::as_double(work.rows.at(0)[0]),
                .single_flop = record::as_double(work.rows.at(0)[1]),
                .bytes = record::as_double(work.rows.at(0)[2])};
    use.reported_seconds = record::as_double(work.rows.at(0)[3]);
    use.below_zero = record::as_double(work.rows.at(0)[4]);
    return use;
}

}  // namespace belay::score
