#include "findings/measure_run.h"

#include "record/archive/sampling_interval.h"
#include "schema/schema.h"

#include <algorithm>
#include <cmath>

namespace belay::findings {

using core::Result;

namespace {

constexpr double kFallbackStartUp = 30;  // where nothing says when the work began
constexpr double kMostStartUp = 0.5;     // of the run

// A number from the first cell; NaN where there is none.
Result<double> number(record::Archive& archive, const std::string& sql) {
    BELAY_TRY(answer, archive.query(sql));
    return answer.rows.empty() ? std::nan("") : record::as_double(answer.rows[0].at(0));
}

}  // namespace

// Lines of a program have times of its own clock, which may count from anywhere.
Result<Run> find_sampled_time(record::Archive& archive) {
    Run run;
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
    if (!(end >= start)) return run;
    run.start = core::time_from_microseconds(start);
    run.end = core::time_from_microseconds(end);
    BELAY_TRY(interval, record::sampling_interval(archive));
    run.interval_seconds = interval;
    run.bucket_seconds = std::max({run.interval_seconds, 1.0, std::ceil(run.seconds() / kMostBuckets)});
    return run;
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
        if (schema::find_table(name) != nullptr) {
            BELAY_TRY(count, archive.query_kept_row(sql));
            run.rows[name] = static_cast<int64_t>(record::as_double(count[0]));
        } else {
            BELAY_TRY(count, number(archive, sql));
            run.rows[name] = static_cast<int64_t>(count);
        }
    }
    BELAY_TRY(samples, archive.sample_counts());
    for (const auto& [table, nodes] : samples.tables)
        if (const auto share = samples.of(table).share()) run.coverage[table] = *share;
    return {};
}

}  // namespace belay::findings
