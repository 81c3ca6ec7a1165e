// A stream that belayd has stored, for a cut (record/cut/piece_source.h).
#pragma once

#include "record/cut/piece_source.h"
#include "server/blocks/intake.h"
#include "server/blocks/received.h"
#include "stream/cursor.h"

#include <optional>
#include <string_view>
#include <utility>

namespace belay::server {

// An agent tells what its node has, and what it cannot read there, when it begins: this long of a stream is read for every job.
inline constexpr core::Duration kBeginningOfStream = std::chrono::hours(1);

// Rows of `range`, some around it, and the beginning of the stream. Blocks that are missing in `needed` count as damage. Later
// calls of read() give the blocks of the first, whatever has come since. Not thread-safe.
class StoredStream final : public record::PieceSource {
  public:
    // The intake outlives this.
    StoredStream(const Intake& intake, stream::StreamId stream, const TimeRange& range,
                 const TimeRange& needed)
        : intake_(&intake), stream_(std::move(stream)), range_(range), needed_(needed) {}
    const stream::StreamId& stream() const override { return stream_; }
    core::Result<> read(const record::PieceVisitor& visit) override;

  private:
    class Pass;

    const Intake* intake_;
    stream::StreamId stream_;
    TimeRange range_;
    TimeRange needed_;
    std::optional<Received> first_;  // what the first call gave
};

}  // namespace belay::server
