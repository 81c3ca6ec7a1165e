#include "schema/schema.h"

#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "schema/tables/filesystem.h"
#include "schema/tables/gpu.h"
#include "schema/tables/gpu_device.h"
#include "schema/tables/gpu_digest.h"
#include "schema/tables/host.h"
#include "schema/tables/io.h"
#include "schema/tables/network.h"
#include "schema/tables/node_plots.h"
#include "schema/tables/output_tail.h"
#include "schema/tables/process.h"
#include "schema/tables/progress.h"
#include "schema/tables/vetting.h"

#include <algorithm>

namespace belay::schema {

namespace {

constexpr const Table* kTables[] = {&kHost,      &kNetwork,    &kFilesystem, &kProcess,    &kGpu,
                                    &kGpuDevice, &kProgress,   &kEvent,      &kAllocation, &kCoverage,
                                    &kVetting,   &kOutputTail, &kIo};

// Every reader relies on these two columns, so their place is checked where the schema is compiled.
consteval bool start_with_time_and_node() {
    return std::ranges::all_of(kTables, [](const Table* table) {
        return table->columns[0].name == "time" && table->columns[0].type == ColumnType::kTimestamp &&
               table->columns[1].name == "node" && table->columns[1].type == ColumnType::kText;
    });
}
static_assert(start_with_time_and_node());

// What is kept is told apart by its name alone.
consteval bool has_each_column_once(const Table& table) {
    for (size_t i = 0; i < table.columns.size(); ++i)
        for (size_t before = 0; before < i; ++before)
            if (table.columns[before].name == table.columns[i].name) return false;
    return true;
}
static_assert(has_each_column_once(kHostSeries) && has_each_column_once(kPlotSeries));

}  // namespace

std::span<const Table* const> tables() {
    return kTables;
}

std::span<const Table* const> gpu_digest_tables() {
    static constexpr const Table* kKept[] = {&kGpuSeries, &kJobSeries, &kGpuSummary};
    return kKept;
}

std::span<const Table* const> kept_series_tables() {
    static constexpr const Table* kKept[] = {&kHostSeries, &kProcessSeries, &kNetworkSeries, &kDiskSeries,
                                             &kIoSeries,   &kPlotSeries,    &kPlotSummary};
    return kKept;
}

const Table* find_table(std::string_view name) {
    auto found = std::ranges::find(kTables, name, [](const Table* table) { return table->name; });
    return found == std::end(kTables) ? nullptr : *found;
}

std::string_view sql_type(ColumnType type) {
    switch (type) {
        case ColumnType::kTimestamp:
            return "TIMESTAMP";
        case ColumnType::kText:
            return "VARCHAR";
        case ColumnType::kInteger:
            return "BIGINT";
        case ColumnType::kReal:
            return "DOUBLE";
        case ColumnType::kBoolean:
            return "BOOLEAN";
    }
    return "VARCHAR";
}

std::string create_table_sql(const Table& table) {
    std::string sql = "CREATE TABLE \"";
    sql.append(table.name).append("\" (");
    for (const Column& column : table.columns) {
        if (&column != table.columns.data()) sql += ", ";
        sql.append("\"").append(column.name).append("\" ").append(sql_type(column.type));
    }
    return sql + ")";
}

}  // namespace belay::schema
