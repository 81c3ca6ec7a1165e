#include "server/packed/sampled_table.h"

#include "core/text.h"
#include "schema/tables/cgroup.h"
#include "schema/tables/fabric.h"
#include "schema/tables/filesystem.h"
#include "schema/tables/gpu.h"
#include "schema/tables/host.h"
#include "schema/tables/io.h"
#include "schema/tables/lustre.h"
#include "schema/tables/network.h"
#include "schema/tables/nfs.h"
#include "schema/tables/numa.h"
#include "schema/tables/power.h"
#include "schema/tables/process.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

namespace belay::server {

namespace {

struct SampledRow {
    const schema::Table* table;
    std::string_view keys;    // names of columns, a blank between
    std::string_view labels;  // whole numbers that are names; texts, flags and times are labels anyway
    std::string_view born;
};

constexpr SampledRow kSampledRows[] = {
    {&schema::kHost, "", "", ""},
    {&schema::kNetwork, "device", "", ""},
    {&schema::kFilesystem, "kind name", "", ""},
    {&schema::kProcess, "pid start_time", "parent_pid job_id task processor", "start_time"},
    {&schema::kGpu, "device", "", ""},
    {&schema::kIo, "device start_time", "", "start_time"},
    {&schema::kCgroup, "path cgroup_id start_time", "job_id task cgroup_version", "start_time"},
    {&schema::kFabric, "kind device port", "", ""},
    {&schema::kLustre, "file_system instance", "", ""},
    {&schema::kNfs, "mount device", "", ""},
    {&schema::kNuma, "numa_node", "", ""},
    {&schema::kPower, "source domain device", "", ""},
};

struct Quantities {
    const schema::Table* table;
    std::span<const schema::Quantity> quantities;
};

constexpr Quantities kQuantities[] = {
    {&schema::kHost, schema::kHostQuantities},
    {&schema::kNetwork, schema::kNetworkQuantities},
    {&schema::kFilesystem, schema::kDiskQuantities},
    {&schema::kProcess, schema::kProcessQuantities},
    {&schema::kGpu, schema::kGpuFields},
    {&schema::kIo, schema::kIoQuantities},
    {&schema::kCgroup, schema::kCgroupQuantities},
    {&schema::kFabric, schema::kFabricQuantities},
    {&schema::kFabric, schema::kFabricInfinibandQuantities},
    {&schema::kFabric, schema::kFabricTransportQuantities},
    {&schema::kFabric, schema::kFabricSlingshotQuantities},
    {&schema::kFabric, schema::kFabricRetryQuantities},
    {&schema::kLustre, schema::kLustreQuantities},
    {&schema::kNfs, schema::kNfsQuantities},
    {&schema::kNuma, schema::kNumaQuantities},
    {&schema::kPower, schema::kPowerQuantities},
};

// The quantities of GPUs do not say how they are sampled; their names do.
schema::Sampled kind_of(const schema::Table& table, std::string_view column) {
    for (const Quantities& row : kQuantities)
        if (row.table == &table)
            for (const schema::Quantity& quantity : row.quantities)
                if (quantity.name == column)
                    return &table == &schema::kGpu && column.ends_with("_total") ? schema::Sampled::kCounter
                                                                                 : quantity.sampling.kind;
    return schema::Sampled::kState;
}

bool is_number(schema::ColumnType type) {
    return type == schema::ColumnType::kInteger || type == schema::ColumnType::kReal;
}

SampledTable make_sampled_table(const SampledRow& row) {
    SampledTable made{.table = row.table, .keys = {}, .labels = {}, .born = {}, .columns = {}};
    const std::vector<std::string_view> keys = core::split(row.keys, ' ');
    const std::vector<std::string_view> labels = core::split(row.labels, ' ');
    constexpr size_t kTimeAndNode = 2;
    for (size_t i = kTimeAndNode; i < row.table->columns.size(); ++i) {
        const schema::Column& column = row.table->columns[i];
        if (std::ranges::find(keys, column.name) != keys.end())
            made.keys.push_back(i);
        else if (!is_number(column.type) || std::ranges::find(labels, column.name) != labels.end())
            made.labels.push_back(i);
        else
            made.columns.push_back({i, kind_of(*row.table, column.name)});
        if (column.name == row.born) made.born = i;
    }
    return made;
}

}  // namespace

const SampledTable* sampled_table(const schema::Table& table) {
    static const std::map<const schema::Table*, SampledTable> all = [] {
        std::map<const schema::Table*, SampledTable> made;
        for (const SampledRow& row : kSampledRows) made.emplace(row.table, make_sampled_table(row));
        return made;
    }();
    const auto found = all.find(&table);
    return found == all.end() ? nullptr : &found->second;
}

}  // namespace belay::server
