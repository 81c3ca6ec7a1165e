#include "report/progress_query.h"

#include "core/json.h"
#include "report/query.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace belay::report {

using core::Result;
using record::as_double;
using record::as_text;

namespace {

std::optional<int64_t> integer(const record::Value& value) {
    double number = as_double(value);
    if (is_missing(number)) return std::nullopt;
    return static_cast<int64_t>(number);
}

// `kind` is train or evaluation. Lines of one bucket become one point; with few lines every line is a bucket.
std::string points_sql(std::string_view kind, std::string_view rate, const Measurements& data) {
    return fmt::format(
        R"(WITH lines AS (
             SELECT (epoch_us(time) - {start}) / 1e6 AS second, task, epoch, step, loss, metric, learning_rate,
                    {rate} AS rate
             FROM progress
             WHERE kind = '{kind}' AND coalesce(loss, metric, learning_rate, {rate}) IS NOT NULL
               AND second BETWEEN -1 AND {seconds} + 1),
           speaker AS (SELECT task FROM lines GROUP BY task ORDER BY count(*) DESC, task LIMIT 1),
           numbered AS (
             SELECT *, row_number() OVER (ORDER BY second, step) - 1 AS number, count(*) OVER () AS lines
             FROM lines WHERE task IS NOT DISTINCT FROM (SELECT task FROM speaker))
           SELECT avg(second), max(epoch), max(step), avg(loss), avg(metric), avg(learning_rate), avg(rate)
           FROM numbered GROUP BY CASE WHEN lines <= {points} THEN number ELSE number * {points} // lines END
           ORDER BY 1)",
        fmt::arg("kind", kind), fmt::arg("rate", rate), fmt::arg("start", core::to_microseconds(data.start)),
        fmt::arg("seconds", data.seconds), fmt::arg("points", kMostPoints));
}

Result<> add_points(record::Archive& archive, std::string_view kind, std::string_view rate,
                    Measurements& data) {
    BELAY_TRY(answer, archive.query(points_sql(kind, rate, data)));
    for (const auto& row : answer.rows)
        data.progress.push_back({.seconds = as_double(row[0]),
                                 .epoch = as_double(row[1]),
                                 .step = integer(row[2]),
                                 .loss = as_double(row[3]),
                                 .metric = as_double(row[4]),
                                 .learning_rate = as_double(row[5]),
                                 .throughput = as_double(row[6])});
    return {};
}

// The value of an MLLOG event as it was logged last.
Result<record::Value> logged(record::Archive& archive, std::string_view keys, std::string_view column) {
    BELAY_TRY(answer,
              archive.query(fmt::format("SELECT {0} FROM progress WHERE key IN ({1}) AND {0} IS NOT NULL "
                                        "ORDER BY time DESC LIMIT 1",
                                        column, keys)));
    return answer.rows.empty() ? record::Value() : answer.rows[0][0];
}

// A JSON string's text; anything else as it is.
std::string plain_text(const std::string& json) {
    auto parsed = core::parse_json(json);
    return parsed.is_string() ? parsed.get<std::string>() : json;
}

}  // namespace

Result<> query_progress(record::Archive& archive, Measurements& data) {
    BELAY_TRY(units,
              archive.query("SELECT count(samples_per_second), count(tokens_per_second) FROM progress"));
    bool tokens = as_double(units.rows[0][1]) > as_double(units.rows[0][0]);
    std::string_view rate = tokens ? "tokens_per_second" : "samples_per_second";
    if (tokens) data.progress_facts.throughput_unit = "tokens/s";
    BELAY_CHECK(add_points(archive, "train", rate, data));
    BELAY_CHECK(add_points(archive, "evaluation", rate, data));
    std::ranges::stable_sort(data.progress, {}, &ProgressPoint::seconds);

    BELAY_TRY(benchmark, logged(archive, "'submission_benchmark'", "text"));
    data.progress_facts.benchmark = plain_text(as_text(benchmark));
    BELAY_TRY(target, logged(archive, "'eval_target', 'target', 'quality_target'", "value"));
    data.progress_facts.target = as_double(target);
    BELAY_TRY(keys, archive.query("SELECT key FROM progress WHERE kind = 'evaluation' AND key IS NOT NULL "
                                  "GROUP BY key ORDER BY count(*) DESC, key LIMIT 1"));
    if (!keys.rows.empty()) data.progress_facts.metric_key = as_text(keys.rows[0][0]);
    return {};
}

}  // namespace belay::report
