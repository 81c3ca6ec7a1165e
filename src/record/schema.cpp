#include "record/schema.h"

#include "record/tables/allocation.h"
#include "record/tables/coverage.h"
#include "record/tables/event.h"
#include "record/tables/filesystem.h"
#include "record/tables/gpu.h"
#include "record/tables/gpu_device.h"
#include "record/tables/host.h"
#include "record/tables/network.h"
#include "record/tables/process.h"
#include "record/tables/progress.h"
#include "record/tables/vetting.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::record {

namespace {

constexpr const Table* kTables[] = {&kHost,     &kNetwork, &kFilesystem, &kProcess,  &kGpu,    &kGpuDevice,
                                    &kProgress, &kEvent,   &kAllocation, &kCoverage, &kVetting};

// Every reader relies on these two columns, so their place is checked where the schema is compiled.
consteval bool start_with_time_and_node() {
    return std::ranges::all_of(kTables, [](const Table* table) {
        return table->columns[0].name == "time" && table->columns[0].type == ColumnType::kTimestamp &&
               table->columns[1].name == "node" && table->columns[1].type == ColumnType::kText;
    });
}
static_assert(start_with_time_and_node());

}  // namespace

std::span<const Table* const> tables() {
    return kTables;
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
    std::string sql = fmt::format("CREATE TABLE \"{}\" (", table.name);
    for (const Column& column : table.columns)
        sql += fmt::format("{}\"{}\" {}", &column == table.columns.data() ? "" : ", ", column.name,
                           sql_type(column.type));
    return sql + ")";
}

}  // namespace belay::record
