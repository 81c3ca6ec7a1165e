#include "agent/courier/stream_tail.h"

namespace belay::agent {

using core::Result;

namespace {

constexpr int kMostPieces = 16;  // in a step: who follows has other things to do as well

}  // namespace

Result<StreamTail> StreamTail::open(const std::filesystem::path& spool, stream::Cursor from,
                                    size_t piece_bytes) {
    BELAY_TRY(reader, stream::SpoolReader::open(spool));
    return StreamTail(std::move(reader), std::move(from), piece_bytes);
}

Result<bool> StreamTail::step(const stream::BatchVisitor& visit) {
    for (int i = 0; i < kMostPieces; ++i) {
        BELAY_TRY(piece, reader_.read(place_, piece_bytes_));
        if (piece.bytes.empty()) return true;
        BELAY_CHECK(stream::read_segment_bytes(piece.bytes, "the agent's stream", visit));
        place_ = piece.next;
    }
    return false;
}

}  // namespace belay::agent
