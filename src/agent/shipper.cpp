#include "agent/shipper.h"

#include "core/file.h"
#include "core/text.h"

#include <algorithm>

namespace belay::agent {

using core::Result;
using stream::Cursor;
using Verdict = ShipAnswer::Verdict;

namespace {

constexpr std::string_view kAcknowledged = "acknowledged";
constexpr size_t kMaxAcknowledgedBytes = size_t{16} << 20;

}  // namespace

Result<Shipper> Shipper::open(const std::filesystem::path& spool, ShipPiece send,
                              std::function<double()> random, const ShipOptions& options) {
    BELAY_TRY(directory, core::Directory::open_guarded(spool));
    BELAY_TRY(reader, stream::SpoolReader::open(spool));
    Shipper shipper(std::move(directory), std::move(reader), std::move(send), std::move(random), options);
    auto text = shipper.directory_.read_file(kAcknowledged, kMaxAcknowledgedBytes);
    if (text) shipper.recall(*text);
    // Where it cannot be read, all is offered again, and belayd knows what it has.
    return shipper;
}

void Shipper::recall(std::string_view text) {
    for (std::string_view line : core::split(text, '\n'))
        if (auto cursor = stream::parse_cursor(line)) next_[cursor->stream] = cursor->next_block;
}

Result<> Shipper::remember() {
    std::string text;
    for (const auto& [stream, next] : next_) text += stream::to_text({stream, next}) + "\n";
    return core::replace_file(directory_.path_of(kAcknowledged), text, 0600);
}

core::Duration Shipper::delay_after_failure(core::Duration at_least) {
    constexpr int kMostDoublings = 16;
    const core::Duration doubled = options_.first_delay * (1 << std::min(failures_++, kMostDoublings));
    const core::Duration longest = std::min(doubled, options_.longest_delay);
    // From half of it to all: the agents of a cluster lose belayd at the same moment.
    const auto jittered =
        core::Duration(static_cast<int64_t>(static_cast<double>(longest.count()) * (0.5 + random_() / 2)));
    return std::max(jittered, at_least);
}

bool Shipper::take_answer(const ShipAnswer& answer, const stream::Piece& piece, ShipRound& round) {
    uint64_t& next = next_[piece.next.stream];
    if (!answer.why.empty()) round.why = answer.why;
    switch (answer.verdict) {
        case Verdict::kStored:
            failures_ = 0;
            ++round.pieces;
            round.bytes += piece.bytes.size();
            // It may have more than this spool remembers; it never has less than what it just stored.
            next = std::max({next, piece.next.next_block, answer.next_block});
            return true;
        case Verdict::kRefused:
            failures_ = 0;
            ++round.refused_pieces;
            next = piece.next.next_block;
            return true;
        case Verdict::kNotOurs:
            not_ours_.insert(piece.next.stream);
            return true;
        case Verdict::kLater:
            break;
    }
    round.wait = delay_after_failure(answer.after);
    return false;
}

Result<ShipRound> Shipper::round() {
    ShipRound round{.wait = options_.when_idle};
    BELAY_TRY(streams, reader_.streams());
    bool goes_on = true, is_behind = false;
    for (const Cursor& begin : streams) {
        if (!goes_on || not_ours_.contains(begin.stream)) continue;
        next_.try_emplace(begin.stream, begin.next_block);
        for (;;) {
            if (round.pieces + round.refused_pieces >= options_.most_pieces) is_behind = true;
            if (is_behind) break;
            BELAY_TRY(piece, reader_.read({begin.stream, next_[begin.stream]}, options_.piece_bytes));
            round.gone_blocks += piece.gone_blocks;
            std::ranges::move(piece.lost, std::back_inserter(round.lost));
            if (piece.bytes.empty()) break;
            goes_on = take_answer(send_(piece.bytes), piece, round);
            if (!goes_on || not_ours_.contains(begin.stream)) break;
        }
    }
    // Streams that left the spool are forgotten.
    const size_t before = next_.size();
    std::erase_if(next_, [&](const auto& entry) {
        return std::ranges::none_of(streams,
                                    [&](const Cursor& cursor) { return cursor.stream == entry.first; });
    });
    if (round.pieces + round.refused_pieces > 0 || next_.size() != before) {
        // A spool that is full keeps nothing, and belayd knows what it has.
        if (auto kept = remember(); !kept) round.why = kept.error().message();
    }
    if (goes_on && is_behind) round.wait = {};
    return round;
}

}  // namespace belay::agent
