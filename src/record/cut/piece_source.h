// What gives the pieces of one node stream: a spool (spool_source.h), or a server that has stored them. A cut reads each
// stream twice, first to learn what there is, and then to take what is the job's.
#pragma once

#include "core/error.h"
#include "stream/spool_reader.h"
#include "stream/stream_id.h"

#include <functional>

namespace belay::record {

// False where nothing more is wanted: reading ends there, without an error.
using PieceVisitor = std::function<core::Result<bool>(const stream::Piece& piece)>;

class PieceSource {
  public:
    virtual ~PieceSource() = default;
    virtual const stream::StreamId& stream() const = 0;
    // Hands on the pieces in the order of their blocks: of all of the stream, or at least of the time that the source was
    // made for. What is gone or damaged is told with the piece behind it. The first call reads what is there now, and hands
    // on a piece without bytes at last, which says what is known of the end. Each later call gives those blocks again.
    // Errors: kSystem, also for a later call that does not find all that the first one gave; what `visit` returns.
    virtual core::Result<> read(const PieceVisitor& visit) = 0;

  protected:
    PieceSource() = default;
    PieceSource(const PieceSource&) = default;
    PieceSource& operator=(const PieceSource&) = default;
};

}  // namespace belay::record
