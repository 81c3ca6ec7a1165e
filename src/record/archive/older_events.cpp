#include "record/archive/older_events.h"

#include <fmt/format.h>

namespace belay::record {

namespace {

struct Fact {
    std::string_view column;
    std::string_view sql;
};

// The sentences of 0.1.0 and 0.2.0.
constexpr Fact kFacts[] = {
    {"source", "CASE WHEN kind IN ('import', 'jobreport') THEN kind ELSE 'recorder' END"},
    {"subject",
     R"(nullif(CASE kind WHEN 'task_start' THEN regexp_extract(message, '^(.*) started as process ', 1)
                    WHEN 'task_end' THEN regexp_extract(message, '^(.*) ended with ', 1)
                    WHEN 'filesystem_hang' THEN regexp_extract(message, '^file system (.*) \(.*\) did not answer', 1)
                    WHEN 'filesystem_back' THEN regexp_extract(message, '^file system (.*) answers again', 1)
                    WHEN 'collector_failed' THEN regexp_extract(message, '^table ([a-z_]+):', 1) END, ''))"},
    {"device", R"(nullif(CASE kind WHEN 'xid' THEN regexp_extract(message, '^XID \d+ of (\S+) ', 1)
                    WHEN 'gpu_lost' THEN regexp_extract(message, '^(\S+) ', 1) END, ''))"},
    {"code", R"(CASE kind WHEN 'xid' THEN try_cast(regexp_extract(message, '^XID (\d+) ', 1) AS BIGINT)
                    WHEN 'task_start' THEN try_cast(regexp_extract(message, ' process (\d+)$', 1) AS BIGINT)
                    WHEN 'task_end' THEN coalesce(
                        try_cast(regexp_extract(message, ' exit status (\d+)$', 1) AS BIGINT),
                        -try_cast(regexp_extract(message, ' signal (\d+)( \(\w+\))?$', 1) AS BIGINT)) END)"},
    {"value",
     R"(CASE kind WHEN 'xid' THEN coalesce(try_cast(regexp_extract(message, ', (\d+) times$', 1) AS DOUBLE), 1) END)"},
};

}  // namespace

std::string facts_of_older_events(std::string_view rows) {
    std::string replaced;
    for (const Fact& fact : kFacts)
        replaced += fmt::format("{}{} AS \"{}\"", replaced.empty() ? "" : ", ", fact.sql, fact.column);
    return fmt::format("(SELECT * REPLACE ({}) FROM {})", replaced, rows);
}

std::string fill_older_events() {
    std::string set;
    for (const Fact& fact : kFacts)
        set += fmt::format("{}\"{}\" = {}", set.empty() ? "" : ", ", fact.column, fact.sql);
    return fmt::format("UPDATE event SET {} WHERE source IS NULL", set);
}

}  // namespace belay::record
