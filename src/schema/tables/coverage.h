#pragma once

#include "schema/schema.h"

namespace belay::schema {

inline constexpr Column kCoverageColumns[] = {
    {"time", ColumnType::kTimestamp, "", "end of the span that the row counts"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"table_name", ColumnType::kText, "", "the periodic table that is counted"},
    {"start", ColumnType::kTimestamp, "", "start of the span"},
    {"interval_seconds", ColumnType::kReal, "s", "sampling interval"},
    {"expected", ColumnType::kInteger, "", "samples due in the span, from the clock"},
    {"received", ColumnType::kInteger, "", "samples that were taken and written"},
};

inline constexpr Table kCoverage{"coverage", Cadence::kEvents,
                                 "samples expected and received per node and table", kCoverageColumns};

}  // namespace belay::schema
