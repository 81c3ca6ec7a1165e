#include "agent/courier/shipper.h"

#include "core/file.h"
#include "core/text.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace belay::agent {

using core::Result;
using stream::Cursor;
using stream::StreamId;
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
        if (auto cursor = stream::parse_cursor(line)) streams_[cursor->stream].next = cursor->next_block;
}

Result<> Shipper::remember() {
    std::string text;
    for (const auto& [stream, state] : streams_) text += stream::to_text({stream, state.next}) + "\n";
    return core::replace_file(directory_.path_of(kAcknowledged), text, 0600);
}

ShipStanding Shipper::standing() const {
    ShipStanding standing{.next = {}, .not_ours = not_ours_};
    for (const auto& [stream, state] : streams_) standing.next[stream] = state.next;
    return standing;
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

// Those that have ended, as far as can be told: their writer began another one, and nothing was left of them. A spool
// of a week holds dozens, and opening each of them again and again would cost more than sampling does.
std::set<StreamId> Shipper::quiet_streams(const std::vector<Cursor>& streams) const {
    std::set<StreamId> quiet;
    if (options_.quiet_rounds == 0 || rounds_ % options_.quiet_rounds == 0) return quiet;
    std::set<std::tuple<std::string, std::string, std::string>>
        later;  // writers of which a later stream was seen
    for (auto cursor = streams.rbegin(); cursor != streams.rend(); ++cursor) {
        const StreamId& stream = cursor->stream;
        const bool is_last = later.emplace(stream.cluster, stream.node, stream.source).second;
        auto state = streams_.find(stream);
        if (!is_last && state != streams_.end() && state->second.left == Left::kNothing) quiet.insert(stream);
    }
    return quiet;
}

Shipper::Pace Shipper::take_answer(const ShipAnswer& answer, stream::Piece& piece, bool is_single,
                                   State& state, ShipRound& round) {
    if (!answer.why.empty()) round.why = answer.why;
    if (answer.errno_value) round.errno_value = answer.errno_value;
    if (answer.verdict == Verdict::kLater) {
        round.failed = true;
        limit_ = std::max(limit_ / 2, std::min(options_.least_piece_bytes, options_.piece_bytes));
        round.wait = delay_after_failure(answer.after);
        return Pace::kEndOfRound;
    }
    failures_ = 0;
    if (answer.verdict == Verdict::kNotOurs) {
        not_ours_.insert(piece.next.stream);
        round.not_ours.push_back(piece.next.stream);
        return Pace::kNextStream;
    }
    if (answer.verdict == Verdict::kRefused && !is_single) {
        state.one_by_one_until = piece.next.next_block;
        return Pace::kNextPiece;
    }
    // What is missing before the piece is told once.
    round.gone_blocks += piece.gone_blocks;
    std::ranges::move(piece.lost, std::back_inserter(round.lost));
    if (answer.verdict == Verdict::kRefused) {
        ++round.refused_pieces;
        state.next = piece.next.next_block;
        return Pace::kNextPiece;
    }
    limit_ = std::min(limit_ * 2, options_.piece_bytes);
    ++round.pieces;
    round.blocks += answer.blocks;
    round.bytes += piece.bytes.size();
    // It may have more than this spool remembers; it never has less than what it just stored.
    state.next = std::max({state.next, piece.next.next_block, answer.next_block});
    return Pace::kNextPiece;
}

Result<Shipper::Pace> Shipper::send_next(const StreamId& stream, State& state, ShipRound& round) {
    const bool is_single = state.next < state.one_by_one_until;
    const size_t limit = is_single ? 1 : limit_;
    BELAY_TRY(piece, reader_.read({stream, state.next}, limit));
    state.left = piece.bytes.empty() ? Left::kNothing : Left::kSome;
    if (piece.bytes.empty()) return Pace::kNextStream;
    return take_answer(send_(piece), piece, limit == 1, state, round);
}

bool Shipper::forget_streams_but(const std::vector<Cursor>& streams, ShipRound& round) {
    const size_t before = streams_.size();
    std::erase_if(streams_, [&](const auto& entry) {
        const auto& [stream, state] = entry;
        const bool is_there =
            std::ranges::any_of(streams, [&](const Cursor& cursor) { return cursor.stream == stream; });
        if (!is_there && state.left == Left::kSome && !not_ours_.contains(stream)) ++round.gone_streams;
        return !is_there;
    });
    return streams_.size() != before;
}

Result<ShipRound> Shipper::round() {
    ShipRound round{.wait = options_.when_idle};
    BELAY_TRY(streams, reader_.streams());
    const std::set<StreamId> quiet = quiet_streams(streams);
    ++rounds_;
    size_t tries = 0;
    bool is_behind = false, goes_on = true;
    for (const Cursor& begin : streams) {
        State& state =
            streams_.try_emplace(begin.stream, State{.next = begin.next_block, .left = Left::kSome})
                .first->second;
        if (not_ours_.contains(begin.stream) || quiet.contains(begin.stream)) continue;
        Pace pace = goes_on && !is_behind ? Pace::kNextPiece : Pace::kNextStream;
        while (pace == Pace::kNextPiece && !is_behind) {
            BELAY_TRY(sent, send_next(begin.stream, state, round));
            pace = sent;
            if (pace == Pace::kNextPiece) is_behind = ++tries >= options_.most_pieces;
        }
        goes_on = goes_on && pace != Pace::kEndOfRound;
    }
    const bool has_forgotten = forget_streams_but(streams, round);
    if (round.pieces + round.refused_pieces > 0 || has_forgotten) {
        // A spool that is full keeps nothing, and belayd knows what it has.
        if (auto kept = remember(); !kept) round.why = kept.error().message();
    }
    if (goes_on && is_behind) round.wait = {};
    return round;
}

}  // namespace belay::agent
