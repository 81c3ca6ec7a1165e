#include "server/packed/history_pieces.h"

#include "server/packed/row_reading.h"
#include "stream/block_encoder.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Result;

namespace {

constexpr core::Duration kBeginning = std::chrono::hours(1);
constexpr size_t kPieceSize = size_t{4} << 20;

// Blocks of a stream that lie in one place, and the time of their rows.
struct TimedBlocks {
    BlockRuns blocks;
    core::Time first, last;
};

std::string text_of(const std::vector<BlockRun>& runs) {
    constexpr size_t kMostShown = 20;
    std::string text;
    for (size_t i = 0; i < std::min(runs.size(), kMostShown); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : ", ",
                            runs[i].size() == 1 ? fmt::format("{}", runs[i].first)
                                                : fmt::format("{}-{}", runs[i].first, runs[i].end - 1));
    return text + (runs.size() > kMostShown ? ", …" : "");
}

class HistoryStream final : public record::PieceSource {
  public:
    HistoryStream(std::shared_ptr<HistoryCut> cut, std::shared_ptr<const NodeSnapshot> snapshot,
                  stream::StreamId stream, const StreamsWanted& wanted)
        : cut_(std::move(cut)), snapshot_(std::move(snapshot)), stream_(std::move(stream)), wanted_(wanted) {}

    const stream::StreamId& stream() const override { return stream_; }

    Result<> read(const record::PieceVisitor& visit) override {
        const bool is_first = !std::exchange(was_read_, true);
        notes_ = {};
        goes_on_ = true;
        cut_->reading().forget_missing_file();
        cut_->reading().done() = {};
        if (is_first) BELAY_CHECK(note_missing());
        const TimeRange& range = wanted_.range;
        auto read = Result<>();
        if (stream_.began < range.begin)
            read = read_rows({core::Time::min(), std::min(stream_.began + kBeginning, range.begin)}, visit);
        if (read && goes_on_) read = read_rows(range, visit);
        // A visitor that wants no more ends the reading by an error of its own.
        if (!read && goes_on_) return read;
        if (!goes_on_) return {};
        if (!is_first && cut_->reading().met_missing_file())
            return core::system_error("the stream of {} lost blocks while it was read", stream_.node)
                .hint("cut again: packed files went meanwhile");
        BELAY_CHECK(flush(visit));
        if (is_first && goes_on_) BELAY_CHECK(hand_on({}, visit));
        return {};
    }

  private:
    Result<> read_rows(const TimeRange& range, const record::PieceVisitor& visit) {
        const RowVisitor take = [&](const stream::Session& session, const stream::Batch& rows) -> Result<> {
            if (piece_.empty()) begin_piece(session);
            for (const stream::RowsPayload& part : stream::encode_rows(rows))
                piece_ += stream::encode_rows_block(part, ++sequence_);
            if (piece_.size() >= kPieceSize) BELAY_CHECK(flush(visit));
            if (!goes_on_) return core::negative("nothing more is wanted");
            return {};
        };
        RowReading reading(cut_->reading(), {}, WantedColumns::all(), take);
        return reading.read_node(*snapshot_, range, stream_);
    }

    void begin_piece(stream::Session session) {
        session.first_block = number_;
        piece_ = stream::encode_head(session);
        sequence_ = 0;
    }

    Result<> flush(const record::PieceVisitor& visit) {
        if (piece_.empty()) return {};
        number_ += sequence_ + 1;
        return hand_on(std::exchange(piece_, {}), visit);
    }

    Result<> hand_on(std::string bytes, const record::PieceVisitor& visit) {
        for (const LostPart& lost : std::exchange(cut_->reading().done().lost, {}))
            notes_.lost.push_back({lost.file, lost.at, lost.bytes, lost.reason});
        notes_.bytes = std::move(bytes);
        notes_.next = {stream_, number_};
        BELAY_TRY(more, visit(notes_));
        goes_on_ = more;
        notes_ = {};
        return {};
    }

    Result<> note_missing() {
        BELAY_TRY(missing, missing_blocks(*cut_, *snapshot_, stream_, wanted_.needed));
        if (missing.empty()) return {};
        notes_.gone_first = missing.front().first;
        for (const BlockRun& run : missing) notes_.gone_blocks += run.size();
        notes_.lost.push_back(
            {fmt::format("{}-{:x}", stream_.node, core::to_nanoseconds(stream_.began)), 0, 0,
             fmt::format("{} missing: {}", notes_.gone_blocks == 1 ? "a block is" : "blocks are",
                         text_of(missing))});
        return {};
    }

    std::shared_ptr<HistoryCut> cut_;
    std::shared_ptr<const NodeSnapshot> snapshot_;
    stream::StreamId stream_;
    StreamsWanted wanted_;
    bool was_read_ = false, goes_on_ = true;
    stream::Piece notes_;
    std::string piece_;
    uint64_t number_ = 0;    // of the next piece's session
    uint32_t sequence_ = 0;  // of the last block in the piece
};

}  // namespace

Result<std::vector<BlockRun>> missing_blocks(HistoryCut& cut, const NodeSnapshot& snapshot,
                                             const stream::StreamId& stream, const TimeRange& needed) {
    const Catalog& catalog = *snapshot.catalog;
    BlockRuns known;
    if (const auto packed = catalog.streams.find(stream); packed != catalog.streams.end())
        known.add(packed->second.blocks);
    std::vector<TimedBlocks> placed;
    if (const auto live = snapshot.live.find(stream); live != snapshot.live.end())
        for (const BlockPlace& place : live->second) {
            known.add(place.blocks);
            known.add(BlockRun{place.first_block, place.first_block + 1});
            BlockRuns blocks;
            blocks.add(place.blocks);
            placed.push_back({std::move(blocks), place.first_time, place.last_time});
        }
    // Of the files around that time: what is missing lies between two of their blocks.
    constexpr core::Duration kAround = std::chrono::hours(1);
    const TimeRange around{needed.begin - kAround, needed.end + kAround};
    for (const PackedFile& file : catalog.files) {
        const bool is_near = file.tier == Tier::kRaw && file.has_rows() && file.first_time < around.end &&
                             file.last_time >= around.begin;
        if (!is_near) continue;
        auto found = cut.reading().blocks_in(file, stream);
        if (!found) return std::unexpected(std::move(found.error()));
        if (*found) placed.push_back({std::move((*found)->blocks), (*found)->first, (*found)->last});
    }
    if (placed.empty()) return std::vector<BlockRun>();
    // A stream that began in that time is known from its first block on.
    uint64_t begin = stream.began >= around.begin ? 0 : std::numeric_limits<uint64_t>::max(), end = 0;
    for (const TimedBlocks& one : placed) {
        begin = std::min(begin, one.blocks.runs().front().first);
        end = std::max(end, one.blocks.end());
    }
    std::vector<BlockRun> missing;
    for (const BlockRun& gap : known.missing_in({begin, end})) {
        core::Time before = stream.began, after = core::Time::max();
        for (const TimedBlocks& one : placed) {
            if (one.last < one.first) continue;  // no rows
            // Where a gap lies within the blocks of one place, it is of their time.
            const bool begins_before = one.blocks.runs().front().first < gap.first;
            const bool ends_behind = one.blocks.end() > gap.end;
            if (begins_before) before = std::max(before, ends_behind ? one.first : one.last);
            if (ends_behind) after = std::min(after, begins_before ? one.last : one.first);
        }
        if (std::min(before, after) < needed.end && std::max(before, after) >= needed.begin)
            missing.push_back(gap);
    }
    return missing;
}

Result<std::vector<std::unique_ptr<record::PieceSource>>> streams_of(const std::shared_ptr<HistoryCut>& cut,
                                                                     const StreamsWanted& wanted) {
    std::vector<std::unique_ptr<record::PieceSource>> sources;
    // All that the log has: the first hour of a stream may lie there as well.
    BELAY_TRY(snapshot, cut->reading().snapshot(wanted.node, {}));
    const auto shared = std::make_shared<const NodeSnapshot>(std::move(snapshot));
    std::set<stream::StreamId> streams;
    for (const auto& [stream, places] : shared->live)
        if (std::ranges::any_of(places, [&](const BlockPlace& place) {
                return place.first_time < wanted.range.end && place.last_time >= wanted.range.begin;
            }))
            streams.insert(stream);
    for (const TimeRange& window : HistoryReading::windows(*shared->catalog, Tier::kRaw, wanted.range)) {
        BELAY_TRY(parts, cut->reading().parts(*shared, Tier::kRaw, window));
        for (const auto& [stream, found] : parts) streams.insert(stream);
    }
    std::vector<stream::StreamId> order;
    for (const stream::StreamId& stream : streams)
        if (stream.cluster == wanted.cluster) order.push_back(stream);
    std::ranges::stable_sort(order, {}, &stream::StreamId::began);
    for (stream::StreamId& stream : order)
        sources.push_back(std::make_unique<HistoryStream>(cut, shared, std::move(stream), wanted));
    return sources;
}

}  // namespace belay::server
