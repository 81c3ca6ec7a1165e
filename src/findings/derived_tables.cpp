#include "findings/derived_tables.h"

#include "record/series/allotment.h"
#include "schema/tables/host.h"
#include "schema/tables/process.h"

#include <array>

namespace belay::findings {

using core::Result;

namespace {

struct Derived {
    DerivedTable table;
    std::string_view sql;
};

// Outside Slurm there are no tasks: then the processes of a node are one.
constexpr Derived kDerived[] = {
    {{"task_series", "the processes of one rank together; outside Slurm, of the node", &schema::kProcess}, R"(
        SELECT time, node, task, count(*) AS processes, max(seconds) AS seconds, sum(cpus_used) AS cpus_used,
               sum(run_delay_share) AS run_delay_share, max(run_delay_share) AS longest_run_delay_share,
               sum(threads) AS threads, sum(resident_bytes) AS resident_bytes,
               sum(anonymous_bytes) AS anonymous_bytes,
               sum(read_bytes_per_second) AS read_bytes_per_second,
               sum(written_bytes_per_second) AS written_bytes_per_second,
               sum(read_characters_per_second) AS read_characters_per_second,
               sum(written_characters_per_second) AS written_characters_per_second,
               max(device_wait_share) AS device_wait_share
        FROM process_series GROUP BY time, node, task)"},
    {{"node_allotment", "CPUs that the job may use on a node", nullptr}, R"(
        SELECT n.node, coalesce(a.cpus, n.cpus) AS cpus, a.cpus IS NOT NULL AS is_known, n.cpus AS node_cpus
        FROM (SELECT node, max(cpus) AS cpus FROM node_series GROUP BY node) n
        LEFT JOIN (SELECT node, max(cpus) AS cpus FROM step_allotment GROUP BY node) a
        USING (node))"},
    {{"host_series", "a node: its host, the job's share of it, network and disks", &schema::kHost}, R"(
        WITH job AS (
            SELECT time, node, sum(cpus_used) AS job_cpus_used, sum(resident_bytes) AS job_resident_bytes,
                   sum(threads) AS job_threads, max(longest_run_delay_share) AS run_delay_share,
                   sum(run_delay_share) AS run_delay_threads,
                   sum(read_bytes_per_second) AS job_read_bytes_per_second,
                   sum(written_bytes_per_second) AS job_written_bytes_per_second,
                   sum(read_characters_per_second) AS job_read_characters_per_second,
                   sum(written_characters_per_second) AS job_written_characters_per_second,
                   max(device_wait_share) AS device_wait_share
            FROM task_series GROUP BY time, node),
        fabric AS (
            SELECT time, node,
                   sum(received_bytes_per_second + sent_bytes_per_second) FILTER (is_own > 0) AS network_bytes_per_second,
                   sum(received_bytes_per_second + sent_bytes_per_second) FILTER (is_own > 0 OR device = 'lo')
                       AS traffic_bytes_per_second
            FROM network_series GROUP BY time, node),
        disks AS (
            SELECT time, node, sum(read_bytes_per_second) AS disk_read_bytes_per_second,
                   sum(written_bytes_per_second) AS disk_written_bytes_per_second,
                   sum(reads_per_second) AS disk_reads_per_second
            FROM disk_series GROUP BY time, node),
        allotted AS (
            SELECT h.time, h.node, max(s.cpus) AS cpus FROM node_series h
            JOIN step_allotment s ON s.node = h.node AND bucket_of(s.t0) <= h.time AND bucket_of(s.t1) >= h.time
            GROUP BY h.time, h.node)
        SELECT h.*, coalesce(allotted.cpus, a.cpus) AS allotted_cpus, h.cpus_used / h.cpus AS cpu_share,
               job_cpus_used / allotted_cpus AS job_cpu_share,
               job.* EXCLUDE (time, node), fabric.* EXCLUDE (time, node), disks.* EXCLUDE (time, node)
        FROM node_series h JOIN node_allotment a USING (node) LEFT JOIN allotted USING (time, node)
        LEFT JOIN job USING (time, node) LEFT JOIN fabric USING (time, node) LEFT JOIN disks USING (time, node))"},
    // A program may count its steps anew in each epoch: they are counted on. One that goes back by less has
    // gone on from a checkpoint, or printed out of order.
    {{"step_series", "when each rank reached each training step in the run; of very many, some of them",
      nullptr},
     R"(
        WITH told AS (
            SELECT *, coalesce(step <= lag(step) OVER ranks / 2, false) AS begins_anew
            FROM progress WHERE kind = 'train' AND step IS NOT NULL AND in_run(time)
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
                   max(loss) AS loss, max(total_steps) AS total_steps
            FROM rounds JOIN passed ON passed.node = rounds.node AND passed.round = rounds.round
                                   AND passed.task IS NOT DISTINCT FROM rounds.task
            GROUP BY rounds.node, rounds.task, step + passed.steps),
        gaps AS (
            SELECT *, epoch_us(time - lag(time) OVER ranks) / 1e6 AS gap_seconds,
                   step - lag(step) OVER ranks AS steps, dense_rank() OVER (ORDER BY step) - 1 AS nth
            FROM lines WINDOW ranks AS (PARTITION BY node, task ORDER BY time))
        SELECT time, node, task, step, total_steps, gap_seconds, loss,
               coalesce(told_seconds, CASE WHEN steps > 0 THEN gap_seconds / steps END) AS step_seconds
        FROM gaps
        WHERE nth % (SELECT greatest(1, count(*) // 200000) FROM lines) = 0
           OR step IN (SELECT max(step) FROM lines GROUP BY node, task))"},
};

constexpr DerivedTable kStepAllotment{
    "step_allotment",
    "CPUs that steps had together on a node, from t0 to t1; no row for a pause between them", nullptr};

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
        BELAY_CHECK(archive.define(fmt::format("CREATE TABLE {} AS {}", derived.table.name, derived.sql)));
    return {};
}

}  // namespace belay::findings
