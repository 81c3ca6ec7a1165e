#include "findings/series_sql.h"

#include <fmt/format.h>

namespace belay::findings {

namespace {

// A bucket of many samples is told by its last ones: counters exactly, states nearly.
constexpr double kManySamples = 40;
constexpr double kEnoughSamples = 10;
constexpr double kManyRows = 5e6;  // fewer are read in a second or two

// Microseconds from the start to the middle of the interval that ends with the sample: what a counter tells
// is of the time before it. The first sample belongs to the first bucket.
std::string moment(int64_t start_microseconds, double interval_seconds) {
    auto half = static_cast<int64_t>(interval_seconds * 1e6 / 2);
    return fmt::format("greatest(0, epoch_us(time) - {})", start_microseconds + half);
}

std::string late_samples(const std::string& moment, const Sampling& sampling) {
    if (sampling.bucket_seconds < kManySamples * sampling.interval_seconds || sampling.rows < kManyRows)
        return "true";
    auto width = static_cast<int64_t>(sampling.bucket_seconds * 1e6);
    auto from =
        static_cast<int64_t>((sampling.bucket_seconds - kEnoughSamples * sampling.interval_seconds) * 1e6);
    return fmt::format("{} % {} >= {}", moment, width, from);
}

// What a counter and its time are compared with in the first bucket, and the seconds that rates are over.
struct Beginning {
    std::string moment = "NULL";
    std::string counter = "NULL";
    std::string seconds = "own_seconds";
};

Beginning beginning_of(const SeriesTable& table, const Sampling& sampling) {
    if (table.born.empty()) return {};
    std::string in_run =
        fmt::format("CASE WHEN epoch_us({}) >= {} THEN ", table.born, sampling.start_microseconds);
    return {
        .moment = fmt::format("{}{} END", in_run, table.born),
        .counter = in_run + "0 END",
        .seconds = fmt::format(
            "CASE WHEN own_seconds IS NOT NULL THEN greatest(own_seconds, coalesce(node_seconds, {})) END",
            sampling.interval_seconds)};
}

}  // namespace

std::string series_sql(const SeriesTable& table, const Sampling& sampling) {
    const Beginning beginning = beginning_of(table, sampling);
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
                steps += fmt::format(", last_{0} - coalesce(lag(last_{0}) OVER buckets, {1}) AS step_{0}",
                                     column.name, beginning.counter);
                outputs += fmt::format(
                    ", CASE WHEN seconds > 0 AND step_{0} >= 0 THEN step_{0} / seconds END AS {0}",
                    column.name);
        }
    }
    std::string keys = table.keys.empty() ? "" : fmt::format(", {}", table.keys);
    std::string when = moment(sampling.start_microseconds, sampling.interval_seconds);
    return fmt::format(
        R"(CREATE TABLE {name} AS
           WITH buckets AS (
             SELECT node{keys}, ({moment} // {width})::BIGINT AS bucket,
                    max(time) AS until{aggregates}
             FROM "{source}" WHERE {filter} AND {late} GROUP BY node{keys}, bucket),
           nodes AS (
             SELECT node, bucket, epoch_us(max(until) - lag(max(until)) OVER (PARTITION BY node ORDER BY bucket))
                    / 1e6 AS node_seconds
             FROM buckets GROUP BY node, bucket),
           steps AS (
             SELECT *, epoch_us(until - coalesce(lag(until) OVER buckets, {since})) / 1e6 AS own_seconds{steps}
             FROM buckets WINDOW buckets AS (PARTITION BY node{keys} ORDER BY bucket)),
           lengths AS (SELECT *, {seconds} AS seconds FROM steps JOIN nodes USING (node, bucket))
           SELECT make_timestamp({start} + bucket * {width}) AS time, node{keys}, seconds{outputs} FROM lengths)",
        fmt::arg("name", table.name), fmt::arg("keys", keys), fmt::arg("start", sampling.start_microseconds),
        fmt::arg("moment", when), fmt::arg("width", static_cast<int64_t>(sampling.bucket_seconds * 1e6)),
        fmt::arg("since", beginning.moment), fmt::arg("seconds", beginning.seconds),
        fmt::arg("aggregates", aggregates), fmt::arg("source", table.source),
        fmt::arg("filter", table.filter.empty() ? "true" : table.filter),
        fmt::arg("late", late_samples(when, sampling)), fmt::arg("steps", steps),
        fmt::arg("outputs", outputs));
}

}  // namespace belay::findings
