#include "record/archive/coverage.h"

#include "schema/tables/gpu.h"
#include "schema/tables/io.h"

#include <algorithm>

namespace belay::record {

using core::Result;

namespace {

std::string timestamp_sql(core::Time time) {
    return fmt::format("make_timestamp({})", core::to_microseconds(time));
}

// The end of the time for which this recorder should have sampled.
core::Time due_until(const stream::SegmentSummary& segment,
                     const std::vector<stream::SegmentSummary>& segments) {
    core::Time latest = segment.last.value_or(segment.session->start);
    core::Time next = core::Time::max();
    for (const stream::SegmentSummary& other : segments) {
        if (other.last) latest = std::max(latest, *other.last);
        if (other.session && other.session->periodic && other.session->node == segment.session->node &&
            other.session->start > segment.session->start)
            next = std::min(next, other.session->start);
    }
    return std::min(latest, next);
}

// The segments of which something was never counted, as a table. GPUs are due only where there are some: a
// recorder that knew of one told of it, sampled it or counted. Likewise I/O only where it was traced.
Result<> make_unfinished(Database& database, const std::string& values) {
    return database.execute(fmt::format(
        R"(CREATE TEMP TABLE unfinished AS
           SELECT *, node IN (SELECT node FROM gpu_device) OR node IN (SELECT node FROM gpu)
                     OR node IN (SELECT node FROM coverage WHERE table_name = '{}') AS has_gpus,
                     node IN (SELECT node FROM io) OR node IN (SELECT node FROM coverage WHERE table_name = '{}') AS has_io
           FROM (VALUES {}) AS segment(id, node, start, until, seconds, is_damaged))",
        schema::kGpu.name, schema::kIo.name, values));
}

// What a recorder counted says nothing of what was damaged later: the rows that are left must be counted
// instead.
constexpr const char* kForgetCounts = R"(
    DELETE FROM coverage USING unfinished
    WHERE unfinished.is_damaged AND coverage.node = unfinished.node AND time BETWEEN unfinished.start AND until)";

std::string_view due_where(const schema::Table& table) {
    if (table.name == schema::kGpu.name) return "has_gpus";
    if (table.name == schema::kIo.name) return "has_io";
    return "true";
}

Result<> count_rest(Database& database, const schema::Table& table) {
    // `counted` is where the recorder's own counts end.
    return database.execute(fmt::format(
        R"(INSERT INTO coverage
           WITH due AS (SELECT *, coalesce((SELECT max(time) FROM coverage WHERE coverage.node = unfinished.node
                                            AND table_name = '{table}' AND time BETWEEN unfinished.start AND until),
                                           start) AS counted FROM unfinished WHERE {where}),
                sampled AS (SELECT id, count(DISTINCT time) AS samples FROM due JOIN "{table}" AS sample
                            ON sample.node = due.node AND time > counted AND time <= until GROUP BY id)
           SELECT until, node, '{table}', counted, seconds,
                  floor(epoch_us(until - counted) / 1e6 / seconds) AS expected,
                  least(expected, coalesce(samples, 0))
           FROM due LEFT JOIN sampled USING (id) WHERE expected > 0 ORDER BY id)",
        fmt::arg("table", table.name), fmt::arg("where", due_where(table))));
}

}  // namespace

Result<SampleCounts> read_sample_counts(Database& database) {
    BELAY_TRY(answer, database.query("SELECT table_name, node, sum(expected), sum(received) FROM coverage "
                                     "WHERE expected > 0 GROUP BY ALL"));
    SampleCounts counts;
    for (const auto& row : answer.rows)
        counts.add(as_text(row[0]), as_text(row[1]),
                   {.expected = static_cast<int64_t>(as_double(row[2])),
                    .received = static_cast<int64_t>(as_double(row[3]))});
    return counts;
}

Result<> count_what_was_never_taken(Database& database, const std::vector<stream::SegmentSummary>& segments) {
    std::string values;
    for (size_t i = 0; i < segments.size(); ++i) {
        const stream::SegmentSummary& segment = segments[i];
        const bool is_damaged = !segment.lost.empty();
        if ((segment.ended && !is_damaged) || !segment.session || !segment.session->periodic ||
            segment.session->interval.count() <= 0)
            continue;
        values += fmt::format("{}({}, {}, {}, {}, CAST({} AS DOUBLE), {})", values.empty() ? "" : ", ", i,
                              sql_literal(segment.session->node), timestamp_sql(segment.session->start),
                              timestamp_sql(segment.ended.value_or(due_until(segment, segments))),
                              core::to_seconds(segment.session->interval), is_damaged);
    }
    if (values.empty()) return {};
    BELAY_CHECK(make_unfinished(database, values));
    BELAY_CHECK(database.execute(kForgetCounts));
    for (const schema::Table* table : schema::tables())
        if (table->cadence == schema::Cadence::kPeriodic) BELAY_CHECK(count_rest(database, *table));
    return database.execute("DROP TABLE unfinished");
}

}  // namespace belay::record
