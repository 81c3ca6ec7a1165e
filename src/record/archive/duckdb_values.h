// What DuckDB's vectors hold, as plain values, and back.
#pragma once

#include "record/archive/database.h"

namespace belay::record {

// Whether a column of this type has plain values: a number other than a decimal, a text, a time.
bool is_plain(duckdb_type type);

// All rows of an answer whose columns are plain; nothing if they take more than that much memory.
std::optional<QueryResult> read_result(const DuckdbApi* api, duckdb_result& result,
                                       std::vector<std::string> names, std::optional<core::ByteSize> memory);

// Adds one value of a batch's column to the row that the appender is at.
duckdb_state append_value(const DuckdbApi* api, duckdb_appender appender, schema::ColumnType type,
                          const stream::ColumnValues& values, size_t row);

}  // namespace belay::record
