// Reading rows: History::read_rows.
#include "server/packed/history_reading.h"

#include <algorithm>
#include <set>

namespace belay::server {

using core::Result;

namespace {

// Rows of one table and stream that lie in order of time, of which some were handed on.
class TimedRows {
  public:
    TimedRows() = default;
    explicit TimedRows(stream::Batch* rows) : rows_(rows) {}
    // Those before a time that were not given yet.
    std::pair<size_t, size_t> until(core::Time end) {
        const size_t begin = at_;
        while (rows_ != nullptr && at_ < rows_->rows() &&
               core::time_from_nanoseconds(time_of(*rows_, at_)) < end)
            ++at_;
        return {begin, at_ - begin};
    }
    const stream::Batch* rows() const { return rows_; }

  private:
    stream::Batch* rows_ = nullptr;
    size_t at_ = 0;
};

class RowReading {
  public:
    RowReading(History& history, const RowQuery& query, const RowVisitor& visit)
        : reading_(history), query_(query), visit_(visit) {
        wanted_ = query.columns.empty() ? WantedColumns::all() : WantedColumns::only(query.columns);
        for (const schema::Table* table : schema::tables())
            if (query.tables.empty() || std::ranges::find(query.tables, table) != query.tables.end())
                tables_.push_back(table);
    }

    Result<> read_node(const std::string& node) {
        BELAY_TRY(snapshot, reading_.snapshot(node, query_.range));
        std::map<stream::StreamId, LiveRows> live;
        std::map<std::pair<stream::StreamId, const schema::Table*>, TimedRows> timed;
        for (const auto& [stream, places] : snapshot.live) {
            BELAY_TRY(rows, reading_.live_rows(snapshot, stream, tables_));
            auto& kept = live.emplace(stream, std::move(rows)).first->second;
            for (auto& [table, batch] : kept.rows) {
                clear_unwanted(batch, wanted_);
                TimedRows& of = timed[{stream, table}] = TimedRows(&batch);
                of.until(query_.range.begin);
            }
        }
        for (const TimeRange& window : HistoryReading::windows(*snapshot.catalog, Tier::kRaw, query_.range)) {
            BELAY_TRY(parts, reading_.parts(snapshot, Tier::kRaw, window));
            for (const auto& [stream, rows] : live)
                parts.try_emplace(stream).first->second.session = rows.session;
            BELAY_CHECK(read_streams(parts, window, timed));
        }
        return {};
    }

    Result<> read_file(const PackedFile& file, const std::string& node) {
        std::map<std::pair<stream::StreamId, const schema::Table*>, TimedRows> none;
        BELAY_TRY(parts, reading_.parts_in(file, node, query_.range));
        return read_streams(parts, query_.range, none);
    }

    ReadHistory finish() { return std::move(reading_.done()); }

  private:
    Result<> read_streams(std::map<stream::StreamId, StreamParts>& streams, const TimeRange& window,
                          std::map<std::pair<stream::StreamId, const schema::Table*>, TimedRows>& timed) {
        std::vector<std::pair<core::Time, const stream::StreamId*>> order;
        for (const auto& [stream, parts] : streams) order.emplace_back(stream.began, &stream);
        std::ranges::stable_sort(order, {}, [](const auto& one) { return one.first; });
        for (const auto& [began, stream] : order)
            for (const schema::Table* table : tables_)
                BELAY_CHECK(read_table(streams.at(*stream), *table, window, timed[{*stream, table}]));
        return {};
    }

    // Parts that overlap in time are read together; between them memory is let go.
    Result<> read_table(const StreamParts& stream, const schema::Table& table, const TimeRange& window,
                        TimedRows& live) {
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

    Result<> hand_on(const StreamParts& stream, stream::Batch rows, TimedRows& live, const TimeRange& range) {
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

    HistoryReading reading_;
    const RowQuery& query_;
    const RowVisitor& visit_;
    WantedColumns wanted_ = WantedColumns::all();
    std::vector<const schema::Table*> tables_;
};

}  // namespace

Result<std::vector<std::string>> History::nodes(const TimeRange& range) {
    const std::vector<std::string> live = intake_->nodes();
    std::set<std::string> names(live.begin(), live.end());
    for (const auto& [stream, packed] : catalog()->streams) names.insert(stream.node);
    if (range.begin == TimeRange().begin && range.end == TimeRange().end)
        return std::vector<std::string>(names.begin(), names.end());
    std::vector<std::string> found;
    for (const std::string& name : names) {
        HistoryReading reading(*this);
        BELAY_TRY(snapshot, reading.snapshot(name, range));
        bool is_there = !snapshot.live.empty();
        for (const PackedFile& file : snapshot.catalog->files) {
            if (is_there || !file.has_rows() || file.first_time >= range.end || file.last_time < range.begin)
                continue;
            BELAY_TRY(parts, reading.parts_in(file, name, range));
            is_there = !parts.empty();
        }
        if (is_there) found.push_back(name);
    }
    return found;
}

Result<ReadHistory> History::read_rows(const RowQuery& query, const RowVisitor& visit) {
    RowReading reading(*this, query, visit);
    std::vector<std::string> nodes = query.nodes;
    if (nodes.empty()) {
        BELAY_TRY(all, this->nodes());
        nodes = std::move(all);
    }
    for (const std::string& node : nodes) BELAY_CHECK(reading.read_node(node));
    return reading.finish();
}

Result<ReadHistory> History::read_file(const PackedFile& file, const RowQuery& query,
                                       const RowVisitor& visit) {
    RowReading reading(*this, query, visit);
    std::vector<std::string> nodes = query.nodes;
    if (nodes.empty()) {
        BELAY_TRY(reader, files_.open(file));
        std::set<std::string> names;
        for (size_t i = 0; i < reader->index().streams(); ++i) names.emplace(reader->index().node_of(i));
        nodes.assign(names.begin(), names.end());
    }
    for (const std::string& node : nodes) BELAY_CHECK(reading.read_file(file, node));
    return reading.finish();
}

}  // namespace belay::server
