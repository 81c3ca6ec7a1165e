// The tables of the job record as data: what a table, a column and a quantity are. Each is declared once, in
// tables/NAME.h; the DDL, the segment codec, the Parquet files, what is kept of samples, the reference page
// and the labels of the report are derived from that.
//
// Every table starts with `time` and `node`. Missing is null, never 0.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace belay::schema {

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

// How samples become one value of a span of time, and that over the whole job.
enum class Fold : uint8_t {
    kMean,  // over the time in which it was sampled
    kHighest,
    kIncrease,  // how far a counter went (record/series/spans.h)
};

// What one sample of a column says.
enum class Sampled : uint8_t {
    kState,            // how it is at its moment
    kCounter,          // what was counted since some beginning
    kUnsteadyCounter,  // may go back a little without a new beginning, as iowait does
};

// How a column is sampled.
struct Sampling {
    Sampled kind = Sampled::kState;
    std::string_view file = {};  // of /proc; empty: elsewhere
    // Of a file of lines "key value", and of one with a line of numbers for each device: which of these,
    // from 1. Neither needs more to be read; of other files a parser of their own knows.
    std::string_view key = {};
    size_t field = 0;
};

// Where a report plots a quantity.
struct Plot {
    std::string_view label = {};    // empty: nowhere
    std::string_view section = {};  // of the report; empty: only in the maps of all devices
    std::string_view note = {};
    int place = 0;                // among the plots; 0: only in charts that name it among others
    std::string_view title = {};  // of its chart; empty: the label
};

// What a sealed record keeps of a quantity's samples: a column of a table of spans.
struct SeriesColumn {
    std::string_view name = {};  // empty: nothing is kept
    std::string_view unit = {};
    std::string_view doc = {};
    Fold fold = Fold::kMean;
    Plot plot = {};
};

// Something that is sampled: its column, and what becomes of its samples.
struct Quantity {
    std::string_view name;
    ColumnType type;
    std::string_view unit;
    std::string_view doc;
    SeriesColumn series = {};
    Sampling sampling = {};

    constexpr Column column() const { return {name, type, unit, doc}; }
};

// Of what the value of a moment is a share, once it is added up over a node (tables/node_plots.h).
enum class ShareOf : uint8_t {
    kNothing,
    kNodeCpus,        // the CPUs of the node
    kPartOfNodeCpus,  // the same; where all such parts come to more than its CPUs, of what they come to
    kJobCpus,         // the CPUs that the job may use on the node at that time
};

// A series that is made of a table's columns; of counters it is the rate, or the increase.
struct SampledSeries {
    SeriesColumn series;
    Sampled sampled = Sampled::kState;
    std::string_view sql;  // over the columns
    ShareOf share_of = ShareOf::kNothing;
};

struct Table;

// A table of series: rows of spans of time, made of the rows of a periodic table.
struct SeriesTable {
    const Table* table;  // time, node, keys, seconds, columns
    const Table* source;
    std::string_view filter;           // SQL: which rows of the source; empty: all
    std::span<const size_t> keys;      // columns of the source that are kept beside the values
    std::span<const size_t> identity;  // those of them that tell one counter of a node from another
    std::string_view born;             // SQL, microseconds: when the counters were 0; empty: nobody knows
    std::span<const SampledSeries> columns;
};

// Periodic tables get rows at every sampling interval, so what should be there is known and coverage is a
// number. Rows of the others come when something happens; their coverage is null.
enum class Cadence : uint8_t { kPeriodic, kEvents };

struct Table {
    std::string_view name;
    Cadence cadence;
    std::string_view doc;
    std::span<const Column> columns;
    int version = 1;             // raised when columns are added, or mean something else
    bool takes_annexes = false;  // whether rows may come after a record was sealed
};

// All tables, in the order in which they are documented.
std::span<const Table* const> tables();

// What a sealed record keeps of the samples of GPUs, in the order in which it is written: the last table says
// that all are there.
std::span<const Table* const> gpu_digest_tables();

// What it keeps of those of hosts, processes, interfaces and disks.
std::span<const Table* const> kept_series_tables();

// nullptr if there is no such table among those of tables().
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

// The rows of several declarations, one after the other.
template <typename Row, size_t... Sizes>
consteval auto joined(const std::array<Row, Sizes>&... parts) {
    std::array<Row, (Sizes + ...)> all{};
    size_t at = 0;
    auto add = [&](const auto& part) {
        for (const Row& row : part) all[at++] = row;
    };
    (add(parts), ...);
    return all;
}
// One text of several.
template <const std::string_view&... kParts>
struct JoinedText {
    static constexpr auto kCharacters = [] {
        std::array<char, (kParts.size() + ...)> all{};
        char* at = all.data();
        ((at = std::copy(kParts.begin(), kParts.end(), at)), ...);
        return all;
    }();
    static constexpr std::string_view kText{kCharacters.data(), kCharacters.size()};
};

template <size_t kSize>
consteval std::array<Column, kSize> columns_of(const Column (&columns)[kSize]) {
    return std::to_array(columns);
}
template <size_t kSize>
consteval std::array<Column, kSize> columns_of(const Quantity (&quantities)[kSize]) {
    std::array<Column, kSize> columns{};
    for (size_t i = 0; i < kSize; ++i) columns[i] = quantities[i].column();
    return columns;
}

template <size_t kSize>
consteval std::array<Column, kSize> columns_of(const std::array<SampledSeries, kSize>& values) {
    std::array<Column, kSize> columns{};
    for (size_t i = 0; i < kSize; ++i)
        columns[i] = {values[i].series.name, ColumnType::kReal, values[i].series.unit, values[i].series.doc};
    return columns;
}

consteval size_t count_series(std::span<const Quantity> quantities) {
    size_t count = 0;
    for (const Quantity& quantity : quantities) count += quantity.series.name.empty() ? 0 : 1;
    return count;
}
// Those of a table's quantities of which something is kept.
template <const auto& kQuantities>
consteval auto series_of() {
    std::array<SampledSeries, count_series(kQuantities)> all{};
    size_t at = 0;
    for (const Quantity& quantity : kQuantities)
        if (!quantity.series.name.empty())
            all[at++] = {quantity.series, quantity.sampling.kind, quantity.name};
    return all;
}

}  // namespace belay::schema
