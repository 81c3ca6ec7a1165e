#include "server/packed/row_reading.h"

#include <algorithm>

namespace belay::server {

using core::Result;

std::pair<size_t, size_t> TimedRows::until(core::Time end) {
    const size_t begin = at_;
    while (rows_ != nullptr && at_ < rows_->rows() && core::time_from_nanoseconds(time_of(*rows_, at_)) < end)
        ++at_;
    return {begin, at_ - begin};
}

RowReading::RowReading(HistoryReading& reading, const std::vector<const schema::Table*>& tables,
                       WantedColumns wanted, const RowVisitor& visit)
    : reading_(reading), wanted_(std::move(wanted)), visit_(visit) {
    for (const schema::Table* table : schema::tables())
        if (tables.empty() || std::ranges::find(tables, table) != tables.end()) tables_.push_back(table);
}

Result<> RowReading::read_node(const NodeSnapshot& snapshot, const TimeRange& range,
                               const std::optional<stream::StreamId>& only) {
    std::map<stream::StreamId, LiveRows> live;
    LiveTables timed;
    for (const auto& [stream, places] : snapshot.live) {
        if (only && stream != *only) continue;
        BELAY_TRY(rows, reading_.live_rows(snapshot, stream, tables_));
        auto& kept = live.emplace(stream, std::move(rows)).first->second;
        for (auto& [table, batch] : kept.rows) {
            clear_unwanted(batch, wanted_);
            TimedRows& of = timed[{stream, table}] = TimedRows(&batch);
            of.until(range.begin);
        }
    }
    for (const TimeRange& window : HistoryReading::windows(*snapshot.catalog, Tier::kRaw, range)) {
        BELAY_TRY(parts, reading_.parts(snapshot, Tier::kRaw, window));
        for (const auto& [stream, rows] : live)
            parts.try_emplace(stream).first->second.session = rows.session;
        if (only) std::erase_if(parts, [&](const auto& stream) { return stream.first != *only; });
        BELAY_CHECK(read_streams(parts, window, timed));
    }
    return {};
}

Result<> RowReading::read_file(const PackedFile& file, const std::string& node, const TimeRange& range) {
    LiveTables none;
    BELAY_TRY(parts, reading_.parts_in(file, node, range));
    return read_streams(parts, range, none);
}

Result<> RowReading::read_streams(const std::map<stream::StreamId, StreamParts>& streams,
                                  const TimeRange& window, LiveTables& live) {
    std::vector<std::pair<core::Time, const stream::StreamId*>> order;
    for (const auto& [stream, parts] : streams) order.emplace_back(stream.began, &stream);
    std::ranges::stable_sort(order, {}, [](const auto& one) { return one.first; });
    for (const auto& [began, stream] : order)
        for (const schema::Table* table : tables_)
            BELAY_CHECK(read_table(streams.at(*stream), *table, window, live[{*stream, table}]));
    return {};
}

// Parts that overlap in time are read together; between them memory is let go.
Result<> RowReading::read_table(const StreamParts& stream, const schema::Table& table,
                                const TimeRange& window, TimedRows& live) {
    std::vector<const OpenPart*> parts;
    for (const OpenPart& part : stream.parts)
        if (part.part.kind == kPiecePart || part.reader->table_of(part.part) == &table)
            parts.push_back(&part);
    std::ranges::stable_sort(parts, {}, [](const OpenPart* part) { return part->part.first_time; });
    for (size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
        core::Time last = parts[begin]->part.last_time;
        for (end = begin + 1; end < parts.size() && parts[end]->part.first_time <= last; ++end)
            last = std::max(last, parts[end]->part.last_time);
        stream::Batch rows(table);
        for (size_t i = begin; i < end; ++i) {
            BELAY_TRY(batch, reading_.rows_of(*parts[i], table, wanted_));
            if (batch != nullptr) rows.append(*batch);
        }
        if (parts[begin]->part.kind == kPiecePart || end - begin > 1) clear_unwanted(rows, wanted_);
        const core::Time until = end < parts.size() ? parts[end]->part.first_time : window.end;
        BELAY_CHECK(hand_on(stream, rows, live, {window.begin, std::min(until, window.end)}));
    }
    return hand_on(stream, stream::Batch(table), live, window);
}

Result<> RowReading::hand_on(const StreamParts& stream, stream::Batch rows, TimedRows& live,
                             const TimeRange& range) {
    const auto [first, count] = live.until(range.end);
    if (count > 0) rows.append(*live.rows(), first, count);
    RowOrder order = rows_by_time(rows);
    std::erase_if(order, [&](uint32_t row) {
        const core::Time time = core::time_from_nanoseconds(time_of(rows, row));
        return time < range.begin || time >= range.end;
    });
    if (order.empty()) return {};
    reading_.done().rows += order.size();
    return visit_(stream.session, gathered(rows, order));
}

}  // namespace belay::server
