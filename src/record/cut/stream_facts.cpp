#include "record/cut/stream_facts.h"

#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/gpu_device.h"

#include <algorithm>

namespace belay::record {

using schema::column;
using schema::kAllocation;
using schema::kCoverage;
using schema::kGpuDevice;

namespace {

// The values of one row.
struct Row {
    const stream::Batch& batch;
    size_t row;

    bool has(size_t column) const { return batch.values(column).present[row] != 0; }
    std::optional<int64_t> integer(size_t column) const {
        return has(column) ? std::optional(batch.values(column).integers[row]) : std::nullopt;
    }
    std::optional<core::Time> time(size_t column) const {
        auto value = integer(column);
        return value ? std::optional(core::time_from_nanoseconds(*value)) : std::nullopt;
    }
    std::optional<std::string> text(size_t column) const {
        return has(column) ? std::optional(batch.values(column).texts[row]) : std::nullopt;
    }
};

std::optional<Share> share_of(const Row& row) {
    const auto from = row.time(column(kAllocation, "t0"));
    if (!from) return std::nullopt;
    return Share{.job_id = row.integer(column(kAllocation, "job_id")),
                 .step_id = row.text(column(kAllocation, "step_id")),
                 .restart = row.integer(column(kAllocation, "restart")).value_or(0),
                 .device = row.text(column(kAllocation, "device")),
                 .first_task = row.integer(column(kAllocation, "first_task")),
                 .tasks = row.integer(column(kAllocation, "tasks")),
                 .cpus = row.integer(column(kAllocation, "cpus")),
                 .from = *from,
                 .to = row.time(column(kAllocation, "t1"))};
}

void add_counted(const Row& row, StreamFacts& facts) {
    const auto end = row.time(0), start = row.time(column(kCoverage, "start"));
    const auto name = row.text(column(kCoverage, "table_name"));
    const schema::Table* table = name ? schema::find_table(*name) : nullptr;
    const int64_t expected = row.integer(column(kCoverage, "expected")).value_or(0);
    const int64_t received = row.integer(column(kCoverage, "received")).value_or(0);
    constexpr int64_t kMost = 1'000'000'000;  // samples in a span that is written every hour at most
    if (!end || !start || table == nullptr || *start >= *end || expected <= 0 || expected > kMost) return;
    facts.counted[table].push_back({*start, *end, expected, std::clamp<int64_t>(received, 0, expected)});
}

void add_device(const Row& row, StreamFacts& facts) {
    if (auto device = row.text(column(kGpuDevice, "device")))
        facts.devices.try_emplace(*device, row.batch.slice(row.row, 1));
}

}  // namespace

void StreamFacts::add(const stream::Batch& batch) {
    const schema::Table& table = batch.table();
    for (size_t i = 0; i < batch.rows(); ++i) {
        const Row row{batch, i};
        const auto time = row.time(0);
        if (time) last = std::max(last, *time);
        if (&table == &kCoverage) add_counted(row, *this);
        if (&table == &kGpuDevice) add_device(row, *this);
        if (&table == &kAllocation)
            if (auto share = share_of(row)) shares.push_back(std::move(*share));
        if (table.cadence != schema::Cadence::kPeriodic || !time) continue;
        auto& times = sampled[&table];
        if (times.empty() || times.back() != *time) times.push_back(*time);
    }
}

}  // namespace belay::record
