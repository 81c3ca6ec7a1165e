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
    for (std::string_view macro : {kSaidMacro, kSlurmEndedMacro, kOomMacro, kLeastGapMacro, kLossPartsMacro})
        BELAY_CHECK(archive.define(std::string(macro)));
    BELAY_CHECK(find_start_up(archive, run));
    BELAY_CHECK(count_rows(archive, run));
    return run;
}

}  // namespace belay::findings
