#include "findings/prepare.h"

#include "findings/derived_tables.h"
#include "findings/measure_run.h"
#include "findings/series_store.h"
#include "record/series/counter.h"
#include "schema/schema.h"

#include <algorithm>

namespace belay::findings {

using core::Result;

namespace {

// Of each task that failed first, the last line that matches. The end of a task is noted a moment after its
// last words.
constexpr std::string_view kSaidMacro = R"(
    CREATE MACRO said(pattern) AS TABLE
        SELECT node, time AS start, time + INTERVAL 1 SECOND AS "end", task, text FROM last_words
        WHERE regexp_matches(text, pattern)
        QUALIFY row_number() OVER (PARTITION BY node, task ORDER BY stream, line DESC) = 1)";

// Slurm's times are whole seconds, and it ends tasks before or after it says that the job is over.
constexpr std::string_view kSlurmEndedMacro = R"(
    CREATE MACRO slurm_ended(states) AS TABLE
        SELECT node, time - INTERVAL 5 SECOND AS start, time + INTERVAL 5 SECOND AS "end", subject AS state, message
        FROM event WHERE kind = 'job_end' AND list_contains(states, subject))";

// Processes that the kernel killed for memory, by node. It counts for the whole node: one was the job's where
// a task of it failed then, and Slurm did not end it.
constexpr std::string_view kOomMacro = R"(
    CREATE MACRO oom_kills(own) AS TABLE
        SELECT * EXCLUDE has_own FROM (
            SELECT node, min(time) FILTER (oom_kills_in_span > 0) AS start, sum(oom_kills_in_span) AS kills,
                   (SELECT max(job_resident_bytes) FROM node_series h WHERE h.node = n.node) AS peak_bytes,
                   max(memory_total_bytes) AS memory_bytes, coalesce(bool_or(is_own), false) AS has_own
            FROM (
                SELECT *, oom_kills_in_span > 0 AND EXISTS (
                    FROM event e WHERE e.node = h.node AND e.kind = 'task_end' AND e.severity = 'critical'
                        AND e.code <> -15 AND e.time >= h.time - INTERVAL 5 SECOND) AND NOT EXISTS (
                    FROM event j WHERE j.kind = 'job_end'
                        AND j.subject IN ('TIMEOUT', 'CANCELLED', 'PREEMPTED', 'NODE_FAIL')) AS is_own
                FROM host_series h) n
            GROUP BY node)
        WHERE kills > 0 AND has_own = own)";

// Time between small kernels, on the GPU of the job that has least of it: where some wait for another, that
// one has none. Nothing where no counters were sampled.
constexpr std::string_view kLeastGapMacro = R"(
    CREATE MACRO least_gap(since) AS (
        SELECT min(gap) FROM (
            SELECT avg(gap_share) AS gap FROM gpu_series WHERE time >= since GROUP BY node, device)))";

// Until when all ranks and nodes were there: what the others do after one failed is waiting.
constexpr std::string_view kTogetherUntilMacro = R"(
    CREATE MACRO together_until() AS (
        SELECT coalesce(least((SELECT min(time) FROM event WHERE kind = 'task_end' AND severity = 'critical'),
                              (SELECT min(last) FROM (SELECT max(time) AS last FROM node_series GROUP BY node))),
                        'infinity'::TIMESTAMP)))";

// The workers of each rank's data loader in `parts` parts of the time from `since` to `until`: how many there
// were, how they spent their time, and the share of it in which what they feed had nothing to do: the GPU of
// the node that was least busy, or, where no GPU is used, the program. The program is the process of a rank
// with most threads, workers are those that began after it.
constexpr std::string_view kLoadersMacro = R"(
    CREATE MACRO loaders(since, until, parts) AS TABLE
        WITH series AS (
            SELECT *, (parts * epoch_us(time - since)) // epoch_us(until - since) AS part
            FROM process_series WHERE time >= since AND time < until),
        processes AS (
            SELECT node, task, pid, start_time,
                   first_value(pid) OVER ranks AS program, first_value(start_time) OVER ranks AS began
            FROM (SELECT node, task, pid, start_time, max(threads) AS threads FROM series GROUP BY ALL)
            WINDOW ranks AS (PARTITION BY node, task ORDER BY threads DESC, start_time, pid)),
        ranks AS (
            SELECT node, task, part, count(DISTINCT time) AS moments,
                   count(*) FILTER (pid <> program AND start_time >= began) AS worker_moments,
                   avg(cpus_used) FILTER (pid <> program AND start_time >= began) AS worker_cpus,
                   avg(device_wait_share) FILTER (pid <> program AND start_time >= began) AS waiting_share,
                   1 - avg(running_share) FILTER (pid = program AND start_time = began) AS program_idle
            FROM series JOIN processes USING (node, task, pid, start_time) GROUP BY node, task, part),
        gpus AS (
            SELECT node, part, max(1 - busy) AS gpu_idle FROM (
                SELECT node, device, (parts * epoch_us(time - since)) // epoch_us(until - since) AS part,
                       avg(coalesce(utilization_share, engine_share)) AS busy
                FROM gpu_series WHERE time >= since AND time < until GROUP BY ALL)
            WHERE busy > 0.02 GROUP BY node, part)
        SELECT node, task, part, worker_moments / moments AS workers, worker_cpus, waiting_share,
               gpu_idle IS NOT NULL AS has_gpus, coalesce(gpu_idle, program_idle) AS idle_share
        FROM ranks LEFT JOIN gpus USING (node, part) WHERE worker_moments >= moments)";

// The losses of each rank in `parts` parts of equally many steps, where it told at least `least` of them.
constexpr std::string_view kLossPartsMacro = R"(
    CREATE MACRO loss_parts(parts, least) AS TABLE
        SELECT * FROM (
            SELECT node, task, time, loss, ntile(parts) OVER (PARTITION BY node, task ORDER BY time) AS part,
                   count(*) OVER (PARTITION BY node, task) AS points
            FROM step_series WHERE loss IS NOT NULL AND isfinite(loss))
        WHERE points >= least)";

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

}  // namespace

Result<Run> find_run(record::Archive& archive, const PrepareGpus& prepare_gpus) {
    if (prepare_gpus) BELAY_CHECK(prepare_gpus(archive));
    BELAY_CHECK(add_missing(archive));
    return find_sampled_time(archive);
}

Result<Run> prepare(record::Archive& archive, const PrepareGpus& prepare_gpus) {
    BELAY_TRY(run, find_run(archive, prepare_gpus));
    BELAY_CHECK(define_macros(archive, run));
    BELAY_CHECK(add_series(archive, run));
    BELAY_CHECK(add_derived_tables(archive));
    for (std::string_view macro : {kSaidMacro, kSlurmEndedMacro, kOomMacro, kLeastGapMacro,
                                   kTogetherUntilMacro, kLoadersMacro, kLossPartsMacro})
        BELAY_CHECK(archive.define(std::string(macro)));
    BELAY_CHECK(find_start_up(archive, run));
    BELAY_CHECK(count_rows(archive, run));
    return run;
}

}  // namespace belay::findings
