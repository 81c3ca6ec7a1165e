#include "server/live/feed.h"

#include "schema/tables/event.h"
#include "stream/segment.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

namespace belay::server {

using core::Result;
using core::Time;

namespace {

// Rows that are later than this when they come are in the record alone.
constexpr core::Duration kLateRows = std::chrono::minutes(1);

nlohmann::ordered_json value_json(const schema::Column& column, const stream::ColumnValues& values,
                                  size_t row) {
    switch (column.type) {
        case schema::ColumnType::kTimestamp:
            return core::format_time(core::time_from_nanoseconds(values.integers[row]));
        case schema::ColumnType::kInteger:
            return values.integers[row];
        case schema::ColumnType::kBoolean:
            return values.integers[row] != 0;
        case schema::ColumnType::kReal:
            return values.reals[row];
        case schema::ColumnType::kText:
            return values.texts[row];
    }
    return nullptr;
}

}  // namespace

std::vector<std::pair<Time, std::string>> event_rows_json(const stream::Batch& batch) {
    std::vector<std::pair<Time, std::string>> rows;
    for (size_t row = 0; row < batch.rows(); ++row) {
        nlohmann::ordered_json json = nlohmann::ordered_json::object();
        for (size_t i = 0; i < batch.table().columns.size(); ++i)
            if (const stream::ColumnValues& values = batch.values(i); values.present[row] != 0)
                json[std::string(batch.table().columns[i].name)] =
                    value_json(batch.table().columns[i], values, row);
        rows.emplace_back(core::time_from_nanoseconds(batch.values(0).integers[row]),
                          json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    return rows;
}

Result<> LiveFeed::look(const LiveJob& live, BlockTail& tail) {
    const Time from = std::max(live.from, clock_->now() - kLateRows);
    for (const std::string& node : live.nodes)
        BELAY_CHECK(tail.read(
            node, {.begin = from}, [&](const stream::StreamId& stream, std::string_view piece) -> Result<> {
                if (stream.cluster != live.cluster) return {};
                BELAY_TRY(read, stream::read_segment_bytes(piece, node, [&](const stream::Batch& batch) {
                              if (&batch.table() != &schema::kEvent) return;
                              for (const auto& [time, json] : event_rows_json(batch))
                                  if (time >= from) hub_->publish(live.key, "event", json);
                          }));
                (void)read;
                return {};
            }));
    return {};
}

Result<> LiveFeed::round(const std::vector<LiveJob>& jobs) {
    std::set<std::string> keys;
    Result<> done;
    for (const LiveJob& live : jobs) {
        keys.insert(live.key);
        BlockTail& tail = tails_.try_emplace(live.key, *intake_).first->second;
        if (auto looked = look(live, tail); !looked && done) done = std::move(looked);
    }
    std::erase_if(tails_, [&](const auto& entry) { return !keys.contains(entry.first); });
    return done;
}

}  // namespace belay::server
