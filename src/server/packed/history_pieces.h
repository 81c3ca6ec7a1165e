// Streams of the history as pieces, for cuts of job records (record/cut/): packed rows and those of the log as one.
//
//   auto cut = std::make_shared<HistoryCut>(history);
//   BELAY_TRY(sources, streams_of(cut, {.cluster = "alps", .node = "n1", .range = range, .needed = job}));
#pragma once

#include "core/error.h"
#include "record/cut/piece_source.h"
#include "server/packed/history_reading.h"

#include <memory>
#include <string>
#include <vector>

namespace belay::server {

// What the sources of one cut share: files that are open. The history outlives it. Not thread-safe.
class HistoryCut {
  public:
    explicit HistoryCut(History& history) : history_(history), reading_(history) {}
    HistoryReading& reading() { return reading_; }
    History& history() { return history_; }

  private:
    History& history_;
    HistoryReading reading_;
};

struct StreamsWanted {
    std::string cluster;
    std::string node;
    TimeRange range;   // of the rows
    TimeRange needed;  // blocks that are missing in it are told
};
// Those that have rows of the range. Each gives the rows of the range, and of the first hour of the stream, in which an agent tells
// what its node has. Their pieces are made anew: the numbers of their blocks are not those of the stream. Errors: kSystem.
core::Result<std::vector<std::unique_ptr<record::PieceSource>>> streams_of(
    const std::shared_ptr<HistoryCut>& cut, const StreamsWanted& wanted);

// Numbers that no file has, between blocks of this time and as far as the blocks around them tell. Errors: kSystem.
core::Result<std::vector<BlockRun>> missing_blocks(HistoryCut& cut, const NodeSnapshot& snapshot,
                                                   const stream::StreamId& stream, const TimeRange& needed);

}  // namespace belay::server
