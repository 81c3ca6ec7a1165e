#include "findings/derived_tables.h"

#include "record/series/allotment.h"
#include "schema/tables/host.h"
#include "schema/tables/node_plots.h"
#include "schema/tables/process.h"

#include <array>
#include <string>
#include <utility>

namespace belay::findings {

using core::Result;

namespace {

struct Derived {
    DerivedTable table;
    std::string_view sql;  // NAME_columns stands for a list of columns with their SQL
};

// Sums of what each process did or held by itself over the bucket, so that of states (memory, threads) those
// that come and go count as long as they are there at all. plot_series adds up moment by moment.
constexpr auto kTaskColumns = std::to_array<DerivedColumn>({
    {"task", "", "rank; null outside Slurm"},
    {"processes", "", "processes that were there", "count(*)"},
    {"seconds", "s", "time of the bucket that samples cover", "max(seconds)"},
    {"cpus_used", "", "CPUs in use", "sum(cpus_used)"},
    {"kernel_cpus", "", "of these, by the kernel for it", "sum(kernel_cpus)"},
    {"unseen_cpus", "", "of these, by children that ended between two samples", "sum(unseen_cpus)"},
    {"run_delay_threads", "", "main threads that waited for a CPU, on average", "sum(run_delay_share)"},
    {"longest_run_delay_share", "ratio",
     "time in which a main thread waited for a CPU: of the process that did longest", "max(run_delay_share)"},
    {"threads", "", "threads: the most of each process", "sum(threads)"},
    {"resident_bytes", "B", "memory in RAM; pages shared between processes count for each",
     "sum(resident_bytes)"},
    {"anonymous_bytes", "B", "memory in RAM that is not backed by a file", "sum(anonymous_bytes)"},
    {"read_bytes_per_second", "B/s", "fetched from storage", "sum(read_bytes_per_second)"},
    {"written_bytes_per_second", "B/s", "sent to storage", "sum(written_bytes_per_second)"},
    {"read_characters_per_second", "B/s", "read(2), cache hits included", "sum(read_characters_per_second)"},
    {"read_calls_per_second", "1/s", "calls of read(2), cache hits included", "sum(read_calls_per_second)"},
    {"written_characters_per_second", "B/s", "write(2)", "sum(written_characters_per_second)"},
    {"device_wait_share", "ratio", "samples in which a process waited for a device: of the one that did most",
     "max(device_wait_share)"},
});

// A quantity that a report plots, too.
consteval DerivedColumn as_plotted(std::string_view name, std::string_view sql) {
    const schema::SeriesColumn& series = schema::kNodePlots[schema::node_plot(name)].series;
    return {series.name, series.unit, series.doc, sql};
}

// Names that plot_series has, too, are the same quantities in the buckets of a report, which has its own;
// where a number is made otherwise there (the memory of the job), it has another name.
constexpr auto kNodeColumns = std::to_array<DerivedColumn>({
    {"allotted_cpus", "", "CPUs that the job may use there at that time", "coalesce(allotted.cpus, a.cpus)"},
    as_plotted("node_cpu_share", "h.cpus_used / h.cpus"),
    as_plotted("job_cpu_share", "job_cpus_used / allotted_cpus"),
});
constexpr auto kJobColumns = std::to_array<DerivedColumn>({
    {"job_cpus_used", "", "CPUs that the job used", "sum(cpus_used)"},
    {"job_kernel_cpus", "", "of these, by the kernel for it", "sum(kernel_cpus)"},
    {"job_unseen_cpus", "", "of these, by children that ended between two samples", "sum(unseen_cpus)"},
    {"job_resident_bytes", "B", "memory of its processes in RAM; pages that they share count for each",
     "sum(resident_bytes)"},
    {"job_threads", "", "threads of its processes: the most of each", "sum(threads)"},
    {"longest_run_delay_share", "ratio",
     "time in which a main thread waited for a CPU: of the process that did longest",
     "max(longest_run_delay_share)"},
    {"run_delay_threads", "", "main threads that waited for a CPU, on average", "sum(run_delay_threads)"},
    as_plotted("job_read_bytes_per_second", "sum(read_bytes_per_second)"),
    as_plotted("job_written_bytes_per_second", "sum(written_bytes_per_second)"),
    {"job_read_characters_per_second", "B/s", "that the job read, cache hits included",
     "sum(read_characters_per_second)"},
    {"job_read_calls_per_second", "1/s", "calls of read(2) of the job, cache hits included",
     "sum(read_calls_per_second)"},
    {"job_written_characters_per_second", "B/s", "that the job wrote", "sum(written_characters_per_second)"},
    {"device_wait_share", "ratio", "samples in which a process waited for a device: of the one that did most",
     "max(device_wait_share)"},
});
constexpr auto kTrafficColumns = std::to_array<DerivedColumn>({
    {"network_bytes_per_second", "B/s",
     "received from and sent to other nodes; what several interfaces count once",
     "sum(received_bytes_per_second + sent_bytes_per_second) FILTER (is_own > 0)"},
    {"traffic_bytes_per_second", "B/s", "the same with the loopback interface",
     "sum(received_bytes_per_second + sent_bytes_per_second) FILTER (is_own > 0 OR device = 'lo')"},
});
constexpr auto kDiskColumns = std::to_array<DerivedColumn>({
    as_plotted("disk_read_bytes_per_second", "sum(read_bytes_per_second)"),
    as_plotted("disk_written_bytes_per_second", "sum(written_bytes_per_second)"),
    {"disk_reads_per_second", "1/s", "read requests to the disks", "sum(reads_per_second)"},
});
constexpr auto kHostColumns = schema::joined(kNodeColumns, kJobColumns, kTrafficColumns, kDiskColumns);

constexpr DerivedColumn kAllotmentColumns[] = {
    {"cpus", "", "that the job may use there at most at a time; of the node where that is not known"},
    {"is_known", "", "whether it is"},
    {"node_cpus", "", "CPUs of the node"},
};
constexpr DerivedColumn kStepColumns[] = {
    {"task", "", "rank"},
    {"step", "",
     "number of the step, counted on where the program begins anew; of the line, where the program numbers "
     "none"},
    {"total_steps", "", "that there will be, as the program told"},
    {"gap_seconds", "s", "since the line before"},
    {"loss", "", "as the program told"},
    {"step_seconds", "s", "as the program told, or from the gap"},
    {"even_step_seconds", "s",
     "the same for the work of the median step, where the program told tokens or samples per second; "
     "step_seconds elsewhere"},
};
constexpr DerivedColumn kStepAllotmentColumns[] = {
    {"t0", "", "from here"},
    {"t1", "", "to here"},
    {"cpus", "", "that steps had together"},
};

constexpr DerivedColumn kLastWordsColumns[] = {
    {"task", "", "rank; null outside Slurm"},
    {"stream", "", "standard output or standard error"},
    {"line", "", "number among the lines that are kept of the stream"},
    {"text", "", "the line"},
};

// Outside Slurm there are no tasks: then the processes of a node are one.
constexpr Derived kDerived[] = {
    {{"task_series", "the processes of one rank together; outside Slurm, of the node", &schema::kProcess,
      kTaskColumns},
     R"(
        SELECT time, node, task, task_columns FROM process_series GROUP BY time, node, task)"},
    {{"node_allotment", "CPUs that the job may use on a node", nullptr, kAllotmentColumns}, R"(
        SELECT n.node, coalesce(a.cpus, n.cpus) AS cpus, a.cpus IS NOT NULL AS is_known, n.cpus AS node_cpus
        FROM (SELECT node, max(cpus) AS cpus FROM host_series GROUP BY node) n
        LEFT JOIN (SELECT node, max(cpus) AS cpus FROM step_allotment GROUP BY node) a
        USING (node))"},
    {{"node_series", "a node: its host, the job's share of it, network and disks", &schema::kHost,
      kHostColumns},
     R"(
        WITH job AS (SELECT time, node, job_columns FROM task_series GROUP BY time, node),
        traffic AS (SELECT time, node, traffic_columns FROM network_series GROUP BY time, node),
        disks AS (SELECT time, node, disk_columns FROM disk_series GROUP BY time, node),
        allotted AS (
            SELECT h.time, h.node, max(s.cpus) AS cpus FROM host_series h
            JOIN step_allotment s ON s.node = h.node AND bucket_of(s.t0) <= h.time AND s.t1 > h.time
            GROUP BY h.time, h.node)
        SELECT h.*, node_columns,
               job.* EXCLUDE (time, node), traffic.* EXCLUDE (time, node), disks.* EXCLUDE (time, node)
        FROM host_series h JOIN node_allotment a USING (node) LEFT JOIN allotted USING (time, node)
        LEFT JOIN job USING (time, node) LEFT JOIN traffic USING (time, node) LEFT JOIN disks USING (time, node))"},
    // Those who fail within two seconds of the first cannot be told apart from it by time: clocks of nodes
    // differ, and a launcher ends all when one has failed.
    {{"last_words", "what the tasks that failed first printed last", nullptr, kLastWordsColumns}, R"(
        SELECT time, node, task, stream, line, text FROM output_tail
        WHERE time <= (SELECT min(time) FROM output_tail) + INTERVAL 2 SECOND)"},
    // A program may count its steps anew in each epoch: they are counted on. One that goes back by less has
    // gone on from a checkpoint, or printed out of order. One that numbers no steps (the Hugging Face Trainer
    // prints fractions of an epoch) has as many between two lines.
    {{"step_series", "when each rank reached each training step in the run; of very many, some of them",
      nullptr, kStepColumns},
     R"(
        WITH numbered AS (
            SELECT * REPLACE (CASE WHEN count(step) OVER (PARTITION BY node, task) > 0 THEN step
                                   ELSE row_number() OVER (PARTITION BY node, task ORDER BY time) END AS step)
            FROM progress WHERE kind = 'train' AND in_run(time)),
        told AS (
            SELECT *, coalesce(step <= lag(step) OVER ranks / 2, false) AS begins_anew
            FROM numbered WHERE step IS NOT NULL
            WINDOW ranks AS (PARTITION BY node, task ORDER BY time, step)),
        rounds AS (
            SELECT *, count_if(begins_anew) OVER (PARTITION BY node, task ORDER BY time, step ROWS UNBOUNDED PRECEDING)
                   AS round
            FROM told),
        passed AS (
            SELECT node, task, round, coalesce(sum(max(step)) OVER (PARTITION BY node, task ORDER BY round
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::BIGINT AS steps
            FROM rounds GROUP BY node, task, round),
        lines AS (
            SELECT min(time) AS time, rounds.node, rounds.task, step + passed.steps AS step, max(step_seconds) AS told_seconds,
                   max(loss) AS loss, max(total_steps) AS total_steps,
                   max(coalesce(tokens_per_second, samples_per_second)) AS rate
            FROM rounds JOIN passed ON passed.node = rounds.node AND passed.round = rounds.round
                                   AND passed.task IS NOT DISTINCT FROM rounds.task
            GROUP BY rounds.node, rounds.task, step + passed.steps),
        gaps AS (
            SELECT *, epoch_us(time - lag(time) OVER ranks) / 1e6 AS gap_seconds,
                   step - lag(step) OVER ranks AS steps, dense_rank() OVER (ORDER BY step) - 1 AS nth
            FROM lines WINDOW ranks AS (PARTITION BY node, task ORDER BY time)),
        timed AS (
            SELECT *, coalesce(told_seconds, CASE WHEN steps > 0 THEN gap_seconds / steps END) AS step_seconds,
                   CASE WHEN rate > 0 AND isfinite(rate) THEN rate END AS usable_rate
            FROM gaps)
        SELECT time, node, task, step, total_steps, gap_seconds, loss, step_seconds,
               coalesce((SELECT median(step_seconds * usable_rate) FROM timed) / usable_rate, step_seconds) AS even_step_seconds
        FROM timed
        WHERE nth % (SELECT greatest(1, count(*) // 200000) FROM lines) = 0
           OR step IN (SELECT max(step) FROM lines GROUP BY node, task))"},
};

constexpr DerivedTable kStepAllotment{
    "step_allotment",
    "CPUs that steps had together on a node, from t0 to t1; no row for a pause between them", nullptr,
    kStepAllotmentColumns};

std::string with_sql(std::span<const DerivedColumn> columns) {
    std::string list;
    for (const DerivedColumn& column : columns)
        if (!column.sql.empty())
            list += fmt::format("{}{} AS {}", list.empty() ? "" : ", ", column.sql, column.name);
    return list;
}

std::string sql_of(const Derived& derived) {
    static constexpr std::pair<std::string_view, std::span<const DerivedColumn>> kLists[] = {
        {"task_columns", kTaskColumns},       {"node_columns", kNodeColumns}, {"job_columns", kJobColumns},
        {"traffic_columns", kTrafficColumns}, {"disk_columns", kDiskColumns},
    };
    std::string sql(derived.sql);
    for (const auto& [name, columns] : kLists)
        if (const size_t place = sql.find(name); place != std::string::npos)
            sql.replace(place, name.size(), with_sql(columns));
    return sql;
}

// It asks for the times and sizes of all samples of hosts, and comes to a row for each node and step.
Result<> add_step_allotment(record::Archive& archive) {
    BELAY_TRY(levels, archive.query_kept(
                          fmt::format("SELECT node, t0, t1, cpus::DOUBLE AS cpus FROM ({}) ORDER BY ALL",
                                      record::kAllotmentSql)));
    BELAY_CHECK(archive.define(fmt::format(
        "CREATE TABLE {} (node VARCHAR, t0 TIMESTAMP, t1 TIMESTAMP, cpus DOUBLE)", kStepAllotment.name)));
    if (levels.rows.empty()) return {};
    return archive.define(fmt::format("INSERT INTO {} {}", kStepAllotment.name, record::values_sql(levels)));
}

}  // namespace

std::span<const DerivedTable> derived_tables() {
    static constexpr auto kAll = [] {
        std::array<DerivedTable, std::size(kDerived) + 1> all{kStepAllotment};
        for (size_t i = 0; i < std::size(kDerived); ++i) all[i + 1] = kDerived[i].table;
        return all;
    }();
    return kAll;
}

Result<> add_derived_tables(record::Archive& archive) {
    BELAY_CHECK(add_step_allotment(archive));
    for (const Derived& derived : kDerived)
        BELAY_CHECK(
            archive.define(fmt::format("CREATE TABLE {} AS {}", derived.table.name, sql_of(derived))));
    return {};
}

}  // namespace belay::findings
