#include "findings/series_store.h"
#include "findings/sql_text.h"
#include "findings/tables.h"
#include "record/series/allotment.h"
#include "record/series/counter.h"
#include "schema/tables/gpu_digest.h"
#include "schema/tables/node_series.h"

#include <algorithm>
#include <cmath>

namespace belay::findings {

using core::Result;

namespace {

constexpr double kFallbackStartUp = 30;  // where nothing says when the work began
constexpr double kMostStartUp = 0.5;     // of the run

struct DerivedTable {
    std::string_view name;
    std::string_view doc;
    std::string_view sql;
};

// Outside Slurm there are no tasks: then the processes of a node are one.
constexpr DerivedTable kDerived[] = {
    {"task_series", "the processes of one rank together; outside Slurm, of the node", R"(
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
    {"node_allotment", "CPUs that the job may use on a node", R"(
        SELECT n.node, coalesce(a.cpus, n.cpus) AS cpus, a.cpus IS NOT NULL AS is_known, n.cpus AS node_cpus
        FROM (SELECT node, max(cpus) AS cpus FROM node_series GROUP BY node) n
        LEFT JOIN (SELECT node, max(cpus) AS cpus FROM step_allotment GROUP BY node) a
        USING (node))"},
    {"host_series", "a node: its host, the job's share of it, network and disks", R"(
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
    {"step_series", "when each rank reached each training step in the run; of very many, some of them", R"(
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

constexpr std::string_view kStepAllotment = "step_allotment";
constexpr std::string_view kStepAllotmentDoc =
    "CPUs that steps had together on a node, from t0 to t1; no row for a pause between them";

// It asks for the times and sizes of all samples of hosts, and comes to a row for each node and step.
Result<> add_step_allotment(record::Archive& archive) {
    BELAY_TRY(levels, archive.query_kept(
                          fmt::format("SELECT node, t0, t1, cpus::DOUBLE AS cpus FROM ({}) ORDER BY ALL",
                                      record::kAllotmentSql)));
    BELAY_CHECK(archive.define(fmt::format(
        "CREATE TABLE {} (node VARCHAR, t0 TIMESTAMP, t1 TIMESTAMP, cpus DOUBLE)", kStepAllotment)));
    if (levels.rows.empty()) return {};
    return archive.define(fmt::format("INSERT INTO {} {}", kStepAllotment, record::values_sql(levels)));
}

// A record without GPUs has their tables all the same, without rows.
Result<> add_missing(record::Archive& archive) {
    BELAY_TRY(names, archive.query("SELECT table_name FROM information_schema.tables"));
    for (const schema::Table* table : schema::gpu_digest_tables()) {
        auto is_it = [&](const auto& row) { return record::as_text(row[0]) == table->name; };
        if (std::ranges::none_of(names.rows, is_it)) BELAY_CHECK(archive.add(*table, stream::Batch(*table)));
    }
    return {};
}

// Of a moment, the start of its bucket, which joins seconds with series; and whether it lies in the run, or
// at most a bucket outside it, where nothing was sampled yet or any more; and how far a counter went.
Result<> define_macros(record::Archive& archive, const Run& run) {
    const int64_t start = core::to_microseconds(run.start);
    const auto bucket = static_cast<int64_t>(run.bucket_seconds * 1e6);
    BELAY_CHECK(archive.define(fmt::format(
        "CREATE MACRO bucket_of(x) AS make_timestamp({0} + ((epoch_us(x) - {0}) // {1})::BIGINT * {1})",
        start, bucket)));
    BELAY_CHECK(archive.define(std::string(record::kIncreaseMacro)));
    return archive.define(fmt::format("CREATE MACRO in_run(x) AS epoch_us(x) BETWEEN {} AND {}",
                                      start - bucket, core::to_microseconds(run.end) + bucket));
}

// A number from the first cell; NaN where there is none.
Result<double> number(record::Archive& archive, const std::string& sql) {
    BELAY_TRY(answer, archive.query(sql));
    return answer.rows.empty() ? std::nan("") : record::as_double(answer.rows[0].at(0));
}

// The span of what was sampled, or where nothing was, of what happened. Lines of a program have times of its
// own clock, which may count from anywhere.
Result<> find_span(record::Archive& archive, Run& run) {
    BELAY_TRY(range, archive.query_kept_row(R"(
        WITH sampled AS (
            SELECT min(time) AS t0, max(time) AS t1 FROM host UNION ALL
            SELECT min(time), max(time) FROM process UNION ALL
            SELECT min(start), max(time) FROM coverage UNION ALL
            SELECT min(time), max(time) FROM gpu_series UNION ALL
            SELECT min(time), max(time) FROM job_series),
        told AS (
            SELECT min(time) AS t0, max(time) AS t1 FROM progress UNION ALL
            SELECT min(time), max(time) FROM event)
        SELECT coalesce((SELECT epoch_us(min(t0)) FROM sampled), (SELECT epoch_us(min(t0)) FROM told)),
               coalesce((SELECT epoch_us(max(t1)) FROM sampled), (SELECT epoch_us(max(t1)) FROM told)))"));
    const double start = record::as_double(range[0]);
    const double end = record::as_double(range[1]);
    if (!(end >= start)) return {};
    run.start = core::time_from_nanoseconds(static_cast<int64_t>(start) * 1000);
    run.end = core::time_from_nanoseconds(static_cast<int64_t>(end) * 1000);
    BELAY_TRY(interval, number(archive, "SELECT median(interval_seconds) FROM coverage"));
    if (interval > 0)
        run.interval_seconds = interval;
    else if (archive.manifest().interval.count() > 0)
        run.interval_seconds = core::to_seconds(archive.manifest().interval);
    run.bucket_seconds = std::max({run.interval_seconds, 1.0, std::ceil(run.seconds() / kMostBuckets)});
    return {};
}

// The work begins with the first training step, or else when the GPUs first do something.
Result<> find_start_up(record::Archive& archive, Run& run) {
    BELAY_TRY(first, number(archive, R"(
        SELECT epoch_us(coalesce((SELECT min(time) FROM step_series),
                                 (SELECT min(time) FROM job_series WHERE sm_share >= 0.5))))"));
    double start = static_cast<double>(core::to_microseconds(run.start)) / 1e6;
    double seconds =
        std::isnan(first) ? std::min(kFallbackStartUp, run.seconds() * 0.1) : first / 1e6 - start;
    seconds = std::clamp(seconds, 0.0, kMostStartUp * run.seconds());
    run.steady_start = run.start + core::Duration(static_cast<int64_t>(seconds * 1e9));
    return {};
}

Result<> count_rows(record::Archive& archive, Run& run) {
    BELAY_TRY(names, archive.query("SELECT table_name FROM information_schema.tables"));
    for (const auto& row : names.rows) {
        std::string name = record::as_text(row[0]);
        const std::string sql = fmt::format("SELECT count(*) FROM \"{}\"", name);
        // Those that the record has may be large; what was made for the rules may be made otherwise by a
        // later version.
        BELAY_TRY(rows, schema::find_table(name) != nullptr ? archive.query_kept(sql) : archive.query(sql));
        run.rows[name] = static_cast<int64_t>(record::as_double(rows.rows.at(0).at(0)));
    }
    BELAY_TRY(coverage, archive.query("SELECT table_name, sum(received) / sum(expected) FROM coverage "
                                      "GROUP BY table_name HAVING sum(expected) > 0"));
    for (const auto& row : coverage.rows) run.coverage[record::as_text(row[0])] = record::as_double(row[1]);
    return {};
}

// Which periodic table a prepared one stands for.
constexpr std::pair<std::string_view, std::string_view> kBehind[] = {
    {"gpu_summary", "gpu"},
    {"gpu_series", "gpu"},
    {"job_series", "gpu"},
    {"node_series", "host"},
    {"host_series", "host"},
    {"process_series", "process"},
    {"task_series", "process"},
    {"network_series", "network"},
    {"disk_series", "filesystem"},
    {"gpu", "gpu"},
    {"host", "host"},
    {"process", "process"},
    {"network", "network"},
    {"filesystem", "filesystem"},
};

}  // namespace

std::vector<std::string> tables_behind(const std::vector<std::string>& tables) {
    std::vector<std::string> out;
    for (const std::string& table : tables)
        for (auto [prepared, source] : kBehind)
            if (prepared == table && std::ranges::find(out, source) == out.end()) out.emplace_back(source);
    return out;
}

std::vector<PreparedTable> prepared_tables() {
    std::vector<PreparedTable> out;
    for (const schema::Table* table : schema::gpu_digest_tables()) {
        PreparedTable& facts =
            out.emplace_back(PreparedTable{std::string(table->name), std::string(table->doc), {}});
        for (const schema::Column& column : table->columns)
            facts.columns.push_back(
                {std::string(column.name), std::string(column.unit), std::string(column.doc)});
    }
    for (const schema::SeriesTable& series : schema::kSeriesTables) {
        PreparedTable& facts = out.emplace_back(
            PreparedTable{std::string(series.table->name), std::string(series.table->doc), {}});
        for (const schema::SampledSeries& column : series.columns)
            facts.columns.push_back({std::string(column.series.name), std::string(column.series.unit),
                                     std::string(column.series.doc)});
    }
    out.push_back({std::string(kStepAllotment), std::string(kStepAllotmentDoc), {}});
    for (const DerivedTable& derived : kDerived)
        out.push_back({std::string(derived.name), std::string(derived.doc), {}});
    return out;
}

Result<Run> find_run(record::Archive& archive, const PrepareGpus& prepare_gpus) {
    if (prepare_gpus) BELAY_CHECK(prepare_gpus(archive));
    BELAY_CHECK(add_missing(archive));
    Run run;
    BELAY_CHECK(find_span(archive, run));
    return run;
}

Result<Run> prepare(record::Archive& archive, const PrepareGpus& prepare_gpus) {
    BELAY_TRY(run, find_run(archive, prepare_gpus));
    BELAY_CHECK(define_macros(archive, run));
    BELAY_CHECK(add_series(archive, run));
    BELAY_CHECK(add_step_allotment(archive));
    for (const DerivedTable& derived : kDerived)
        BELAY_CHECK(archive.define(fmt::format("CREATE TABLE {} AS {}", derived.name, derived.sql)));
    BELAY_CHECK(find_start_up(archive, run));
    BELAY_CHECK(count_rows(archive, run));
    return run;
}

}  // namespace belay::findings
