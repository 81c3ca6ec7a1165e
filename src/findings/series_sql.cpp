#include "findings/series_sql.h"

#include <fmt/format.h>

namespace belay::findings {

std::string series_sql(const SeriesTable& table, int64_t start_microseconds, double bucket_seconds) {
    std::string aggregates;
    std::string steps;
    std::string outputs;
    for (const SeriesColumn& column : table.columns) {
        switch (column.kind) {
            case SampleKind::kMean:
                aggregates += fmt::format(", avg({}) AS {}", column.sql, column.name);
                outputs += fmt::format(", {}", column.name);
                break;
            case SampleKind::kHighest:
                aggregates += fmt::format(", max({}) AS {}", column.sql, column.name);
                outputs += fmt::format(", {}", column.name);
                break;
            case SampleKind::kRate:
                aggregates +=
                    fmt::format(", max({0}) AS high_{1}, min({0}) AS low_{1}", column.sql, column.name);
                steps += fmt::format(", high_{0} - coalesce(lag(high_{0}) OVER buckets, low_{0}) AS step_{0}",
                                     column.name);
                outputs += fmt::format(
                    ", CASE WHEN seconds > 0 AND step_{0} >= 0 THEN step_{0} / seconds END AS {0}",
                    column.name);
        }
    }
    std::string keys = table.keys.empty() ? "" : fmt::format(", {}", table.keys);
    return fmt::format(
        R"(CREATE TABLE {name} AS
           WITH buckets AS (
             SELECT node{keys}, ((epoch_us(time) - {start}) // {width})::BIGINT AS bucket,
                    max(time) AS until, min(time) AS since{aggregates}
             FROM "{source}" WHERE {filter} GROUP BY node{keys}, bucket),
           steps AS (
             SELECT *, epoch_us(until - coalesce(lag(until) OVER buckets, since)) / 1e6 AS seconds{steps}
             FROM buckets WINDOW buckets AS (PARTITION BY node{keys} ORDER BY bucket))
           SELECT make_timestamp({start} + bucket * {width}) AS time, node{keys}, seconds{outputs} FROM steps)",
        fmt::arg("name", table.name), fmt::arg("keys", keys), fmt::arg("start", start_microseconds),
        fmt::arg("width", static_cast<int64_t>(bucket_seconds * 1e6)), fmt::arg("aggregates", aggregates),
        fmt::arg("source", table.source), fmt::arg("filter", table.filter.empty() ? "true" : table.filter),
        fmt::arg("steps", steps), fmt::arg("outputs", outputs));
}

}  // namespace belay::findings
