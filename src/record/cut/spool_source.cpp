#include "record/cut/spool_source.h"

namespace belay::record {

using core::Result;

Result<> SpoolSource::read(const PieceVisitor& visit) {
    return end_ ? read_again(visit) : read_first(visit);
}

Result<> SpoolSource::read_first(const PieceVisitor& visit) {
    stream::Cursor at = begin_;
    for (bool goes_on = true; goes_on;) {
        BELAY_TRY(piece, spool_->read(at));
        at = piece.next;
        gone_blocks_ += piece.gone_blocks;
        BELAY_TRY(more, visit(piece));
        goes_on = more && !piece.bytes.empty();
    }
    end_ = std::move(at);
    return {};
}

Result<> SpoolSource::read_again(const PieceVisitor& visit) {
    uint64_t gone_blocks = 0;
    for (stream::Cursor at = begin_; at < *end_;) {
        BELAY_TRY(piece, spool_->read(at));
        at = piece.next;
        gone_blocks += piece.gone_blocks;
        // What was counted as there would be missing from the record.
        if (gone_blocks > gone_blocks_ || (piece.bytes.empty() && at < *end_))
            return core::system_error("the stream of {} lost blocks while it was read", at.stream.node)
                .hint("cut again; a spool at its limit gives up its oldest files while its agent runs");
        if (piece.bytes.empty()) break;
        BELAY_TRY(more, visit(piece));
        if (!more) break;
    }
    return {};
}

}  // namespace belay::record
