// The schema of the job record as data: what a table and a column are. Each table is declared once, in
// tables/NAME.h; the DDL, the segment codec, the Parquet files, the reference page and the labels of the
// report are derived from that.
//
// Every table starts with `time` and `node`. Missing is null, never 0.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace belay::record {

enum class ColumnType : uint8_t {
    kTimestamp = 1,  // UTC; nanoseconds in memory and in segments, microseconds in Parquet
    kText = 2,
    kInteger = 3,  // 64 bit, signed
    kReal = 4,
    kBoolean = 5,
};

struct Column {
    std::string_view name;  // ends in its base unit
    ColumnType type;
    std::string_view unit;  // "" for none
    std::string_view doc;   // one line
};

// Periodic tables get rows at every sampling interval, so what should be there is known and coverage is a
// number. Rows of the others come when something happens; their coverage is null.
enum class Cadence : uint8_t { kPeriodic, kEvents };

struct Table {
    std::string_view name;
    Cadence cadence;
    std::string_view doc;
    std::span<const Column> columns;
};

// All tables, in the order in which they are documented.
std::span<const Table* const> tables();

// nullptr if there is no such table.
const Table* find_table(std::string_view name);

// "TIMESTAMP", "VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN": the SQL type and the name used in `record schema`.
std::string_view sql_type(ColumnType type);

// CREATE TABLE "name" ("time" TIMESTAMP, ...)
std::string create_table_sql(const Table& table);

// The index of a column, at compile time: a name that the table does not have does not compile.
consteval size_t column(const Table& table, std::string_view name) {
    for (size_t i = 0; i < table.columns.size(); ++i)
        if (table.columns[i].name == name) return i;
    throw "the table has no such column";
}

}  // namespace belay::record
