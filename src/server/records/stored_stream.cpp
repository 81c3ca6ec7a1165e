#include "server/records/stored_stream.h"

#include "core/text.h"
#include "stream/block_walk.h"
#include "stream/segment_bytes.h"
#include "stream/segment_session.h"
#include "stream/unpack.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace belay::server {

using core::Result;

namespace {

// The blocks of a piece; without a session they have no numbers.
struct PieceBlocks {
    struct Block {
        uint64_t end = 0;     // in the piece
        uint64_t number = 0;  // in the stream
    };
    uint64_t head_bytes = 0;   // 0 where the session could not be read
    uint64_t first_block = 0;  // its number
    std::vector<Block> blocks;
};

// What is damaged is passed over; who unpacks the piece tells of it.
Result<PieceBlocks> blocks_of(std::string_view piece) {
    PieceBlocks found;
    stream::SegmentBytes bytes(piece);
    BELAY_TRY(head, stream::find_head(bytes));
    for (uint64_t at = head.next; at < bytes.size();) {
        BELAY_TRY(block, stream::find_block(bytes, at));
        at = block.next;
        if (!block.header) continue;
        if (block.header->kind != stream::kSessionBlock) {
            if (found.head_bytes > 0)
                found.blocks.push_back({block.next, found.first_block + block.header->sequence});
            continue;
        }
        const std::string_view stored = piece.substr(
            static_cast<size_t>(block.at) + stream::kBlockHeaderBytes, block.header->stored_bytes);
        auto payload = stream::Unpacker().unpack(*block.header, stored);
        if (!payload && payload.error().kind() == core::ErrorKind::kSystem)
            return std::unexpected(std::move(payload.error()));
        if (!payload) break;
        auto written = stream::decode_session(*payload);
        if (!written) break;
        found.first_block = written->session.first_block;
        found.head_bytes = block.next;
    }
    return found;
}

std::string runs_text(const std::vector<BlockRun>& runs) {
    constexpr size_t kMostShown = 20;
    std::string text;
    for (size_t i = 0; i < std::min(runs.size(), kMostShown); ++i) {
        text += i == 0 ? "" : ", ";
        text += runs[i].size() == 1 ? std::to_string(runs[i].first)
                                    : fmt::format("{}-{}", runs[i].first, runs[i].end - 1);
    }
    return text + (runs.size() > kMostShown ? ", …" : "");
}

}  // namespace

// One call of read().
class StoredStream::Pass {
  public:
    Pass(const StoredStream& source, const record::PieceVisitor& visit) : source_(source), visit_(visit) {}

    Result<> run() {
        const bool is_first = !source_.first_;
        if (is_first) note_missing();
        const stream::StreamId& id = source_.stream_;
        const TimeRange& range = source_.range_;
        if (id.began < range.begin)
            BELAY_CHECK(read({core::Time::min(), std::min(id.began + kBeginningOfStream, range.begin)}));
        BELAY_CHECK(read(range));
        if (!is_first && goes_on_ && given_ != *source_.first_)
            return core::system_error("the stream of {} lost blocks while it was read", id.node)
                .hint("cut again: files of the block log went, or can no more be read");
        if (is_first && goes_on_) BELAY_CHECK(hand_on({}));
        return {};
    }
    Received take_given() { return std::move(given_); }

  private:
    Result<> read(const TimeRange& range) {
        if (!goes_on_) return {};
        return source_.intake_->read(source_.stream_, range,
                                     [&](std::string_view piece) { return take(piece); });
    }

    // Places of both ranges hold the same blocks, and some may have come since the first call.
    Result<> take(std::string_view piece) {
        if (!goes_on_) return {};
        BELAY_TRY(found, blocks_of(piece));
        if (found.head_bytes == 0) return hand_on(std::string(piece));  // its reader says why
        given_.add({found.first_block, found.first_block + 1});
        std::string bytes(piece.substr(0, static_cast<size_t>(found.head_bytes)));
        uint64_t taken_to = found.head_bytes;
        for (const PieceBlocks::Block& block : found.blocks) {
            const BlockRun run{block.number, block.number + 1};
            const bool is_wanted = given_.missing_in(run).size() == 1 &&
                                   (!source_.first_ || source_.first_->missing_in(run).empty());
            if (is_wanted) bytes += piece.substr(taken_to, static_cast<size_t>(block.end - taken_to));
            if (is_wanted) given_.add(run);
            taken_to = block.end;
        }
        bytes += piece.substr(static_cast<size_t>(taken_to));
        if (bytes.size() <= found.head_bytes) return {};
        return hand_on(std::move(bytes));
    }

    Result<> hand_on(std::string bytes) {
        notes_.bytes = std::move(bytes);
        notes_.next = {source_.stream_, given_.end()};
        BELAY_TRY(more, visit_(notes_));
        goes_on_ = more;
        notes_ = {};
        return {};
    }

    void note_missing() {
        const std::vector<BlockRun> missing = source_.intake_->missing(source_.stream_, source_.needed_);
        if (missing.empty()) return;
        notes_.gone_first = missing.front().first;
        for (const BlockRun& run : missing) notes_.gone_blocks += run.size();
        notes_.lost.push_back(
            {fmt::format("{}-{:x}", source_.stream_.node, core::to_nanoseconds(source_.stream_.began)), 0, 0,
             fmt::format("{} missing: {}", notes_.gone_blocks == 1 ? "a block is" : "blocks are",
                         runs_text(missing))});
    }

    const StoredStream& source_;
    const record::PieceVisitor& visit_;
    Received given_;
    stream::Piece notes_;  // goes with the next piece
    bool goes_on_ = true;
};

Result<> StoredStream::read(const record::PieceVisitor& visit) {
    Pass pass(*this, visit);
    BELAY_CHECK(pass.run());
    if (!first_) first_ = pass.take_given();
    return {};
}

}  // namespace belay::server
