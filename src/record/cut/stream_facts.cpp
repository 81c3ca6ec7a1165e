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

// What a batch of one row takes beside its texts.
constexpr uint64_t kBatchBytes = 4096;

uint64_t text_bytes(const Row& row) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < row.batch.table().columns.size(); ++i)
        if (row.batch.table().columns[i].type == schema::ColumnType::kText)
            bytes += row.batch.values(i).texts[row.row].size();
    return bytes;
}

std::optional<Share> share_of(const Row& row) {
    const auto from = row.time(column(kAllocation, "t0")), to = row.time(column(kAllocation, "t1"));
    if (!from || !is_possible(*from) || (to && !is_possible(*to))) return std::nullopt;
    return Share{.job_id = row.integer(column(kAllocation, "job_id")),
                 .step_id = row.text(column(kAllocation, "step_id")),
                 .restart = row.integer(column(kAllocation, "restart")).value_or(0),
                 .device = row.text(column(kAllocation, "device")),
                 .first_task = row.integer(column(kAllocation, "first_task")),
                 .tasks = row.integer(column(kAllocation, "tasks")),
                 .cpus = row.integer(column(kAllocation, "cpus")),
                 .from = *from,
                 .to = to};
}

void add_share(const Row& row, StreamFacts& facts, FactsRoom& room) {
    auto share = share_of(row);
    if (!share) return;
    // Twice, for a list that grows.
    if (room.take(2 * sizeof(Share) + text_bytes(row)))
        facts.shares.push_back(std::move(*share));
    else
        facts.lacked_room = true;
}

void add_counted(const Row& row, StreamFacts& facts, FactsRoom& room) {
    const auto end = row.time(0), start = row.time(column(kCoverage, "start"));
    const auto name = row.text(column(kCoverage, "table_name"));
    const schema::Table* table = name ? schema::find_table(*name) : nullptr;
    const int64_t expected = row.integer(column(kCoverage, "expected")).value_or(0);
    const int64_t received = row.integer(column(kCoverage, "received")).value_or(0);
    constexpr int64_t kMost = 1'000'000'000;  // samples in a span that is written every hour at most
    if (!end || !start || table == nullptr || *start >= *end || expected <= 0 || expected > kMost) return;
    if (!is_possible(*start)) return;
    if (!room.take(2 * sizeof(CountedSpan))) {
        facts.lacked_room = true;
        return;
    }
    facts.counted[table].push_back({*start, *end, expected, std::clamp<int64_t>(received, 0, expected)});
}

void add_device(const Row& row, StreamFacts& facts, FactsRoom& room) {
    auto device = row.text(column(kGpuDevice, "device"));
    if (!device || facts.devices.contains(*device)) return;
    if (room.take(kBatchBytes + 2 * text_bytes(row)))
        facts.devices.emplace(std::move(*device), row.batch.slice(row.row, 1));
    else
        facts.lacked_room = true;
}

void add_sampled(core::Time time, std::vector<core::Time>& times, StreamFacts& facts, FactsRoom& room) {
    if (!times.empty() && times.back() == time) return;
    if (room.take(2 * sizeof(core::Time)))
        times.push_back(time);
    else
        facts.lacked_room = true;
}

}  // namespace

bool is_possible(core::Time time) {
    using std::chrono::sys_days, std::chrono::year;
    constexpr core::Time kFirst = sys_days(year(1970) / 1 / 1), kEnd = sys_days(year(2200) / 1 / 1);
    return time >= kFirst && time < kEnd;
}

std::optional<std::string> why_impossible(const stream::Session& session) {
    auto is_odd = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '/' || c == '\x7f'; };
    if (session.node.empty() || std::ranges::any_of(session.node, is_odd))
        return "the name of its node cannot be one";
    if (!is_possible(session.start) || !is_possible(session.began))
        return "the time of its beginning cannot be";
    auto is_period = [](core::Duration period) {
        return period >= core::Duration::zero() && period <= std::chrono::days(1);
    };
    if (!is_period(session.interval) || !is_period(session.flush)) return "its periods cannot be";
    return std::nullopt;
}

void StreamFacts::add(const stream::Batch& batch, FactsRoom& room) {
    const schema::Table& table = batch.table();
    for (size_t i = 0; i < batch.rows(); ++i) {
        const Row row{batch, i};
        const auto time = row.time(0);
        if (time && !is_possible(*time)) {
            ++impossible;
            continue;
        }
        if (time) last = std::max(last, *time);
        if (&table == &kCoverage) add_counted(row, *this, room);
        if (&table == &kGpuDevice) add_device(row, *this, room);
        if (&table == &kAllocation) add_share(row, *this, room);
        if (table.cadence != schema::Cadence::kPeriodic || !time) continue;
        add_sampled(*time, sampled[&table], *this, room);
    }
}

}  // namespace belay::record
