// A stream of a spool, for a cut.
#pragma once

#include "record/cut/piece_source.h"
#include "stream/cursor.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace belay::record {

// All that the spool has of the stream, whenever it was. A later call may also give what was written since.
class SpoolSource final : public PieceSource {
  public:
    // The reader outlives this. `begin`: as SpoolReader::streams() gave it.
    SpoolSource(stream::SpoolReader& spool, stream::Cursor begin)
        : spool_(&spool), begin_(std::move(begin)) {}
    const stream::StreamId& stream() const override { return begin_.stream; }
    core::Result<> read(const PieceVisitor& visit) override;

  private:
    core::Result<> read_first(const PieceVisitor& visit);
    core::Result<> read_again(const PieceVisitor& visit);

    stream::SpoolReader* spool_;
    stream::Cursor begin_;
    std::optional<stream::Cursor> end_;  // where the first call ended
    uint64_t gone_blocks_ = 0;           // that it did not find
};

}  // namespace belay::record
