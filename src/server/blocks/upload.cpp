#include "server/blocks/upload.h"

#include "core/text.h"
#include "core/utf8.h"
#include "schema/tables/allocation.h"
#include "stream/block_walk.h"
#include "stream/cursor.h"
#include "stream/segment_bytes.h"
#include "stream/segment_format.h"

#include <algorithm>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

constexpr size_t kTimeColumn = 0;
constexpr size_t kNodeColumn = 1;  // every table begins with the two

struct PlacedBlock {
    uint64_t end = 0;  // in the piece
    uint32_t sequence = 0;
    std::string_view bytes;
};

// Finds the head and the blocks; nothing is unpacked.
Result<std::vector<PlacedBlock>> place_blocks(std::string_view piece, std::string_view& head) {
    stream::SegmentBytes bytes(piece);
    BELAY_TRY(found_head, stream::find_head(bytes));
    if (found_head.head == stream::FileHead::kNewer) return bad_input("written by a newer version of Belay");
    if (found_head.head != stream::FileHead::kOurs || found_head.next < stream::kFileHeaderBytes)
        return bad_input("does not begin with the header of a segment");
    std::vector<PlacedBlock> blocks;
    for (uint64_t at = found_head.next; at < bytes.size();) {
        BELAY_TRY(found, stream::find_block(bytes, at));
        if (!found.header) return bad_input("at byte {}: {}", at, found.problem);
        const bool is_session = found.header->kind == stream::kSessionBlock;
        if (is_session != head.empty())
            return bad_input("at byte {}: one session at the beginning is needed", at);
        if (is_session && found.header->sequence != 0)
            return bad_input("its session has a sequence other than 0");
        if (is_session) head = piece.substr(0, static_cast<size_t>(found.next));
        const uint32_t last = blocks.empty() ? 0 : blocks.back().sequence;
        if (!is_session && found.header->sequence <= last)
            return bad_input("at byte {}: a block that is out of order", at);
        if (!is_session)
            blocks.push_back(
                {.end = found.next,
                 .sequence = found.header->sequence,
                 .bytes = piece.substr(static_cast<size_t>(at), static_cast<size_t>(found.bytes()))});
        at = found.next;
    }
    if (head.empty()) return bad_input("has no session");
    return blocks;
}

// What the rows of a batch say; an error where they are another node's.
Result<> take_rows(const stream::Batch& batch, const std::string& node, UploadedBlock& block) {
    const stream::ColumnValues& nodes = batch.values(kNodeColumn);
    const bool all_present = std::ranges::all_of(nodes.present, [](uint8_t present) { return present != 0; });
    if (!all_present ||
        std::ranges::any_of(nodes.texts, [&](const std::string& name) { return name != node; }))
        return bad_input("rows of the table {} are not of the session's node {}", batch.table().name,
                         core::printable(node));
    const auto [first, last] = std::ranges::minmax(batch.values(kTimeColumn).integers);
    block.first_time = core::time_from_nanoseconds(first);
    block.last_time = core::time_from_nanoseconds(last);
    block.rows = batch.rows();
    return {};
}

// Of one row of `allocation`; nothing where it is about a GPU, about no job of Slurm, or cannot be true.
std::optional<StatedShare> share_in(const stream::Batch& batch, size_t row) {
    using schema::kAllocation;
    auto has = [&](size_t index) { return batch.values(index).present[row] != 0; };
    auto integer = [&](size_t index) {
        return has(index) ? std::optional(batch.values(index).integers[row]) : std::nullopt;
    };
    constexpr size_t kStep = column(kAllocation, "step_id");
    constexpr size_t kLongestStep = 64;
    const auto job_id = integer(column(kAllocation, "job_id"));
    const auto told = integer(kTimeColumn), t0 = integer(column(kAllocation, "t0"));
    const auto t1 = integer(column(kAllocation, "t1"));
    if (has(column(kAllocation, "device")) || job_id.value_or(0) <= 0 || !told) return std::nullopt;
    if (t0.value_or(0) <= 0 || (t1 && *t1 < *t0)) return std::nullopt;
    StatedShare share{.told = core::time_from_nanoseconds(*told),
                      .job_id = *job_id,
                      .restart = std::max<int64_t>(integer(column(kAllocation, "restart")).value_or(0), 0),
                      .t0 = core::time_from_nanoseconds(*t0)};
    if (t1) share.t1 = core::time_from_nanoseconds(*t1);
    if (has(kStep)) share.step_id = batch.values(kStep).texts[row].substr(0, kLongestStep);
    return share;
}

Result<> take_shares(const stream::Batch& batch, uint64_t number, std::vector<StatedShare>& shares) {
    if (&batch.table() != &schema::kAllocation) return {};
    for (size_t row = 0; row < batch.rows(); ++row) {
        auto share = share_in(batch, row);
        if (!share) continue;
        if (shares.size() >= kMaxStatedShares)
            return bad_input("says of more than {} steps that they were on the node", kMaxStatedShares);
        share->block = number;
        shares.push_back(std::move(*share));
    }
    return {};
}

Result<Upload> read_piece(std::string_view piece) {
    Upload upload;
    BELAY_TRY(placed, place_blocks(piece, upload.head));
    stream::UnpackBudget budget;
    auto reader = stream::SegmentReader::of_bytes(piece, "upload", budget);
    std::vector<UploadedBlock> blocks(placed.size());
    for (;;) {
        BELAY_TRY(batch, reader.next());
        const stream::SegmentSummary& summary = reader.summary();
        if (!summary.lost.empty())
            return bad_input("at byte {}: {}", summary.lost[0].offset, summary.lost[0].reason);
        if (batch == nullptr) break;
        // The block that was just read ends where the reader stands.
        const auto block = std::ranges::lower_bound(placed, summary.read_to, {}, &PlacedBlock::end);
        const uint64_t number = summary.session->first_block + block->sequence;
        BELAY_CHECK(
            take_rows(*batch, summary.session->node, blocks[static_cast<size_t>(block - placed.begin())]));
        BELAY_CHECK(take_shares(*batch, number, upload.shares));
        upload.rows += batch->rows();
    }
    upload.session = *reader.summary().session;
    for (size_t i = 0; i < placed.size(); ++i) {
        blocks[i].number = upload.session.first_block + placed[i].sequence;
        blocks[i].bytes = placed[i].bytes;
    }
    upload.blocks = std::move(blocks);
    return upload;
}

}  // namespace

BlockRun Upload::run() const {
    if (blocks.empty()) return {session.first_block, session.first_block + 1};
    return {blocks.front().number, blocks.back().number + 1};
}

Result<Upload> read_upload(std::string_view piece) {
    if (piece.size() > kMaxUploadBytes)
        return bad_input("the upload has {} bytes; at most {} are taken", piece.size(), kMaxUploadBytes);
    BELAY_TRY(upload, core::with_context(read_piece(piece), "the upload"));
    if (upload.session.node.empty()) return bad_input("the upload: its session names no node");
    if (!stream::has_usable_names(upload.session.stream()))
        return bad_input("the upload: a name in its session has more than {} bytes", stream::kMaxStreamName);
    return upload;
}

}  // namespace belay::server
