// Reading rows: History::read_rows.
#include "server/packed/row_reading.h"

#include <algorithm>
#include <set>

namespace belay::server {

using core::Result;

namespace {

WantedColumns wanted_by(const RowQuery& query) {
    return query.columns.empty() ? WantedColumns::all() : WantedColumns::only(query.columns);
}

}  // namespace

Result<std::vector<std::string>> History::nodes(const TimeRange& range) {
    const std::vector<std::string> live = intake_->nodes();
    if (range.begin == TimeRange().begin && range.end == TimeRange().end) {
        std::set<std::string> names(live.begin(), live.end());
        for (const auto& [stream, packed] : catalog()->streams) names.insert(stream.node);
        return std::vector<std::string>(names.begin(), names.end());
    }
    std::set<std::string> names;
    for (const std::string& name : live)
        if (!intake_->streams_of(name, range).empty()) names.insert(name);
    const auto now = catalog();
    HistoryReading reading(*this);
    for (const PackedFile& file : now->files) {
        if (!file.has_rows() || file.first_time >= range.end || file.last_time < range.begin) continue;
        BELAY_TRY(found, reading.nodes_in(file, range));
        names.merge(found);
    }
    return std::vector<std::string>(names.begin(), names.end());
}

Result<ReadHistory> History::read_rows(const RowQuery& query, const RowVisitor& visit) {
    HistoryReading reading(*this);
    RowReading rows(reading, query.tables, wanted_by(query), visit);
    std::vector<std::string> nodes = query.nodes;
    if (nodes.empty()) {
        BELAY_TRY(all, this->nodes());
        nodes = std::move(all);
    }
    for (const std::string& node : nodes) {
        BELAY_TRY(snapshot, reading.snapshot(node, query.range));
        BELAY_CHECK(rows.read_node(snapshot, query.range));
    }
    return std::move(reading.done());
}

Result<ReadHistory> History::read_file(const PackedFile& file, const RowQuery& query,
                                       const RowVisitor& visit) {
    HistoryReading reading(*this);
    RowReading rows(reading, query.tables, wanted_by(query), visit);
    BELAY_CHECK(files_.open(file));
    std::vector<std::string> nodes = query.nodes;
    if (nodes.empty()) {
        BELAY_TRY(all, reading.nodes_in(file, query.range));
        nodes.assign(all.begin(), all.end());
    }
    for (const std::string& node : nodes) BELAY_CHECK(rows.read_file(file, node, query.range));
    return std::move(reading.done());
}

}  // namespace belay::server
