#include "record/archive/coverage.h"

#include "schema/tables/gpu.h"

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

// GPUs are due only where there are some: a recorder that knew of one told of it, sampled it or counted.
Result<bool> is_due(Database& database, const schema::Table& table, const std::string& node) {
    if (table.name != schema::kGpu.name) return true;
    BELAY_TRY(known,
              database.query(fmt::format(
                  "SELECT EXISTS (FROM gpu_device WHERE node = {0}) OR EXISTS (FROM gpu WHERE node = {0}) "
                  "OR EXISTS (FROM coverage WHERE node = {0} AND table_name = 'gpu')",
                  sql_literal(node))));
    return known.rows.at(0).at(0) == Value(true);
}

Result<> count_rest(Database& database, const schema::Table& table, const stream::Session& session,
                    core::Time until) {
    std::string node = sql_literal(session.node);
    // `counted` is where the recorder's own counts end.
    return database.execute(fmt::format(
        R"(INSERT INTO coverage
           WITH counted AS (SELECT coalesce(max(time), {start}) AS counted FROM coverage
                            WHERE node = {node} AND table_name = '{table}' AND time BETWEEN {start} AND {until})
           SELECT {until}, {node}, '{table}', counted, {interval},
                  floor(epoch_us({until} - counted) / 1e6 / {interval}) AS expected,
                  least(expected, (SELECT count(DISTINCT time) FROM "{table}"
                                   WHERE node = {node} AND time > counted AND time <= {until}))
           FROM counted WHERE expected > 0)",
        fmt::arg("start", timestamp_sql(session.start)), fmt::arg("until", timestamp_sql(until)),
        fmt::arg("node", node), fmt::arg("table", table.name),
        fmt::arg("interval", core::to_seconds(session.interval))));
}

// What a recorder counted says nothing of what was damaged later: the rows that are left must be counted
// instead.
Result<> forget_counts(Database& database, const stream::Session& session, core::Time until) {
    return database.execute(fmt::format("DELETE FROM coverage WHERE node = {} AND time BETWEEN {} AND {}",
                                        sql_literal(session.node), timestamp_sql(session.start),
                                        timestamp_sql(until)));
}

}  // namespace

Result<Coverage> read_coverage(Database& database) {
    BELAY_TRY(
        answer,
        database.query("SELECT table_name, sum(expected), sum(received) FROM coverage GROUP BY table_name"));
    Coverage coverage;
    double expected_total = 0;
    double received_total = 0;
    for (const auto& row : answer.rows) {
        double expected = as_double(row[1]);
        double received = as_double(row[2]);
        if (!(expected > 0)) continue;
        coverage.tables[as_text(row[0])] = received / expected;
        expected_total += expected;
        received_total += received;
    }
    if (expected_total > 0) coverage.total = received_total / expected_total;
    return coverage;
}

Result<> count_what_was_never_taken(Database& database, const std::vector<stream::SegmentSummary>& segments) {
    for (const stream::SegmentSummary& segment : segments) {
        bool is_damaged = !segment.lost.empty();
        if ((segment.ended && !is_damaged) || !segment.session || !segment.session->periodic ||
            segment.session->interval.count() <= 0)
            continue;
        core::Time until = segment.ended.value_or(due_until(segment, segments));
        std::vector<const schema::Table*> due;  // asked before counts are forgotten
        for (const schema::Table* table : schema::tables()) {
            if (table->cadence != schema::Cadence::kPeriodic) continue;
            BELAY_TRY(is, is_due(database, *table, segment.session->node));
            if (is) due.push_back(table);
        }
        if (is_damaged) BELAY_CHECK(forget_counts(database, *segment.session, until));
        for (const schema::Table* table : due)
            BELAY_CHECK(count_rest(database, *table, *segment.session, until));
    }
    return {};
}

}  // namespace belay::record
