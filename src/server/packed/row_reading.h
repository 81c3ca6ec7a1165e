// The rows of nodes and streams in order of time, out of what HistoryReading finds.
#pragma once

#include "core/error.h"
#include "server/packed/history_reading.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::server {

// Rows of one table and stream that lie in order of time, of which some were handed on. The batch outlives it.
class TimedRows {
  public:
    TimedRows() = default;
    explicit TimedRows(const stream::Batch* rows) : rows_(rows) {}
    // Those before a time that were not given yet: the first, and how many.
    std::pair<size_t, size_t> until(core::Time end);
    const stream::Batch* rows() const { return rows_; }

  private:
    const stream::Batch* rows_ = nullptr;
    size_t at_ = 0;
};

// Everything that it is given outlives it.
class RowReading {
  public:
    // `tables`: empty for all.
    RowReading(HistoryReading& reading, const std::vector<const schema::Table*>& tables, WantedColumns wanted,
               const RowVisitor& visit);

    // `only`: one stream; nothing for all. Errors: kSystem; what the visitor returns.
    core::Result<> read_node(const NodeSnapshot& snapshot, const TimeRange& range,
                             const std::optional<stream::StreamId>& only = std::nullopt);
    core::Result<> read_file(const PackedFile& file, const std::string& node, const TimeRange& range);

  private:
    using LiveTables = std::map<std::pair<stream::StreamId, const schema::Table*>, TimedRows>;
    core::Result<> read_streams(const std::map<stream::StreamId, StreamParts>& streams,
                                const TimeRange& window, LiveTables& live);
    core::Result<> read_table(const StreamParts& stream, const schema::Table& table, const TimeRange& window,
                              TimedRows& live);
    core::Result<> hand_on(const StreamParts& stream, stream::Batch rows, TimedRows& live,
                           const TimeRange& range);

    HistoryReading& reading_;
    WantedColumns wanted_;
    const RowVisitor& visit_;
    std::vector<const schema::Table*> tables_;
};

}  // namespace belay::server
