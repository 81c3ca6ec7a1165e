#include "findings/series_sql.h"

#include <fmt/format.h>

namespace belay::findings {

namespace {

// A bucket of many samples is told by its last ones: counters exactly, states nearly.
constexpr double kManySamples = 40;
constexpr double kEnoughSamples = 10;

// Microseconds from the start to the middle of the interval that ends with the sample: what a counter tells
// is of the time before it. The first sample belongs to the first bucket.
std::string moment(int64_t start_microseconds, double interval_seconds) {
    auto half = static_cast<int64_t>(interval_seconds * 1e6 / 2);
    return fmt::format("greatest(0, epoch_us(time) - {})", start_microseconds + half);
}

std::string late_samples(const std::string& moment, double bucket_seconds, double interval_seconds) {
    if (bucket_seconds < kManySamples * interval_seconds) return "true";
    auto width = static_cast<int64_t>(bucket_seconds * 1e6);
    auto from = static_cast<int64_t>((bucket_seconds - kEnoughSamples * interval_seconds) * 1e6);
    return fmt::format("{} % {} >= {}", moment, width, from);
}

}  // namespace

std::string series_sql(const SeriesTable& table, int64_t start_microseconds, double bucket_seconds,
                       double interval_seconds) {
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
                aggregates += fmt::format(", max({}) AS last_{}", column.sql, column.name);
                steps += fmt::format(", last_{0} - lag(last_{0}) OVER buckets AS step_{0}", column.name);
                outputs += fmt::format(
                    ", CASE WHEN seconds > 0 AND step_{0} >= 0 THEN step_{0} / seconds END AS {0}",
                    column.name);
        }
    }
    std::string keys = table.keys.empty() ? "" : fmt::format(", {}", table.keys);
    std::string when = moment(start_microseconds, interval_seconds);
    return fmt::format(
        R"(CREATE TABLE {name} AS
           WITH buckets AS (
             SELECT node{keys}, ({moment} // {width})::BIGINT AS bucket,
                    max(time) AS until{aggregates}
             FROM "{source}" WHERE {filter} AND {late} GROUP BY node{keys}, bucket),
           steps AS (
             SELECT *, epoch_us(until - lag(until) OVER buckets) / 1e6 AS seconds{steps}
             FROM buckets WINDOW buckets AS (PARTITION BY node{keys} ORDER BY bucket))
           SELECT make_timestamp({start} + bucket * {width}) AS time, node{keys}, seconds{outputs} FROM steps)",
        fmt::arg("name", table.name), fmt::arg("keys", keys), fmt::arg("start", start_microseconds),
        fmt::arg("moment", when), fmt::arg("width", static_cast<int64_t>(bucket_seconds * 1e6)),
        fmt::arg("aggregates", aggregates), fmt::arg("source", table.source),
        fmt::arg("filter", table.filter.empty() ? "true" : table.filter),
        fmt::arg("late", late_samples(when, bucket_seconds, interval_seconds)), fmt::arg("steps", steps),
        fmt::arg("outputs", outputs));
}

}  // namespace belay::findings
