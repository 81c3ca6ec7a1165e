#include "findings/macros.h"

namespace belay::findings {

namespace {

constexpr Macro kMacros[] = {
    // The end of a task is noted a moment after its last words.
    {"said(pattern)",
     "of each task that failed first, the last line that matches a regular expression (RE2): `node`, "
     "`start`, `end`, `task`, `text`",
     R"(TABLE
        SELECT node, time AS start, time + INTERVAL 1 SECOND AS "end", task, text FROM last_words
        WHERE regexp_matches(text, pattern)
        QUALIFY row_number() OVER (PARTITION BY node, task ORDER BY stream, line DESC) = 1)"},

    // Slurm's times are whole seconds, and it ends tasks before or after it says that the job is over.
    {"slurm_ended(states)",
     "how Slurm ended the job, if in one of these states: `node`, `start`, `end`, `state`, `message`",
     R"(TABLE
        SELECT node, time - INTERVAL 5 SECOND AS start, time + INTERVAL 5 SECOND AS "end", subject AS state, message
        FROM event WHERE kind = 'job_end' AND list_contains(states, subject))"},

    // The counter is that of the whole node: a kill was the job's where a task of it failed then, and Slurm
    // did not end it.
    {"oom_kills(own)",
     "nodes on which the kernel killed processes for memory, of the job or else of others: `node`, `start`, "
     "`kills`, `peak_bytes` of the job, `memory_bytes`",
     R"(TABLE
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
        WHERE kills > 0 AND has_own = own)"},

    // Where some GPUs wait for another, that one has none.
    {"least_gap(since)",
     "share of the time between small kernels, on the GPU of the job that has least of it; null where no "
     "counters were sampled",
     R"((
        SELECT min(gap) FROM (
            SELECT avg(gap_share) AS gap FROM gpu_series WHERE time >= since GROUP BY node, device)))"},

    // What the others do after one failed is waiting.
    {"together_until()",
     "when the first rank failed, or the first node was not heard of again; else `infinity`",
     R"((
        SELECT coalesce(least((SELECT min(time) FROM event WHERE kind = 'task_end' AND severity = 'critical'),
                              (SELECT min(last) FROM (SELECT max(time) AS last FROM node_series GROUP BY node))),
                        'infinity'::TIMESTAMP)))"},

    // The program is the process of a rank with most threads, workers are those that began after it. What
    // they feed is the GPU of the node that was least busy of those that were used, or, where none is used,
    // the program.
    {"loaders(since, until, parts, used)",
     "the workers of each rank's data loader in equal parts of a time: `node`, `task`, `part`, `workers`, "
     "`worker_cpus`, `waiting_share` (for a device), `has_gpus` (busy for more than `used`), `idle_share` "
     "(of "
     "what they feed)",
     R"(TABLE
        WITH series AS (
            SELECT *, (parts * epoch_us(time - since)) // epoch_us(until - since) AS part
            FROM process_series WHERE time >= since AND time < until),
        processes AS (
            SELECT node, task, pid, start_time,
                   first_value(pid) OVER ranks AS program, first_value(start_time) OVER ranks AS began,
                   2 * threads <= first_value(threads) OVER ranks OR first_value(threads) OVER ranks <= 2 AS has_few_threads
            FROM (SELECT node, task, pid, start_time, max(threads) AS threads FROM series GROUP BY ALL)
            WINDOW ranks AS (PARTITION BY node, task ORDER BY threads DESC, start_time, pid)),
        -- Outside Slurm the task is null, and other ranks are there too, with as many threads as the program.
        ranks AS (
            SELECT node, series.task AS task, part, count(DISTINCT time) AS moments,
                   count(*) FILTER (pid <> program AND start_time >= began) AS worker_moments,
                   avg(cpus_used) FILTER (pid <> program AND start_time >= began) AS worker_cpus,
                   avg(device_wait_share) FILTER (pid <> program AND start_time >= began) AS waiting_share,
                   1 - avg(running_share) FILTER (pid = program AND start_time = began) AS program_idle
            FROM series JOIN processes USING (node, pid, start_time)
            WHERE series.task IS NOT DISTINCT FROM processes.task
              AND (series.task IS NOT NULL OR has_few_threads OR pid = program) GROUP BY node, series.task, part),
        gpus AS (
            SELECT node, part, max(1 - busy) AS gpu_idle FROM (
                SELECT node, device, (parts * epoch_us(time - since)) // epoch_us(until - since) AS part,
                       avg(coalesce(utilization_share, engine_share)) AS busy
                FROM gpu_series WHERE time >= since AND time < until GROUP BY ALL)
            WHERE busy > used GROUP BY node, part)
        SELECT node, task, part, worker_moments / moments AS workers, worker_cpus, waiting_share,
               gpu_idle IS NOT NULL AS has_gpus, coalesce(gpu_idle, program_idle) AS idle_share
        FROM ranks LEFT JOIN gpus USING (node, part) WHERE worker_moments >= moments)"},

    {"loss_parts(parts, least)",
     "the losses of each rank in parts of equally many steps, where it told at least so many: `node`, "
     "`task`, `time`, `loss`, `part`, `points`",
     R"(TABLE
        SELECT * FROM (
            SELECT node, task, time, loss, ntile(parts) OVER (PARTITION BY node, task ORDER BY time) AS part,
                   count(*) OVER (PARTITION BY node, task) AS points
            FROM step_series WHERE loss IS NOT NULL AND isfinite(loss))
        WHERE points >= least)"},
};

}  // namespace

std::span<const Macro> macros() {
    return kMacros;
}

}  // namespace belay::findings
