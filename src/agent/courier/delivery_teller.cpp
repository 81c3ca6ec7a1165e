#include "agent/courier/delivery_teller.h"

#include "core/tell.h"
#include "core/text.h"
#include "core/units.h"
#include "stream/cursor.h"

#include <algorithm>

namespace belay::agent {

bool DeliveryTeller::is_time(std::optional<core::Duration>& told, core::Duration now) const {
    if (told && now - *told < quiet_) return false;
    told = now;
    return true;
}

// Whether belayd takes blocks. A round without anything to send shows nothing.
void DeliveryTeller::tell_state(const ShipRound& round, core::Duration now, std::vector<Note>& notes) {
    if (round.failed) {
        if (away_since_) return;
        away_since_ = now;
        is_away_told_ = is_time(told_away_, now);
        if (is_away_told_)
            notes.push_back({.kind = NoteKind::kAway,
                             .subject = host_,
                             .value = 0,
                             .code = round.errno_value,
                             .message = "blocks wait in the spool: " + round.why});
        return;
    }
    if (!away_since_ || round.pieces + round.refused_pieces == 0) return;
    const core::Duration away = now - *away_since_;
    away_since_.reset();
    if (!is_away_told_) return;
    notes.push_back(
        {.kind = NoteKind::kBack,
         .subject = host_,
         .value = core::to_seconds(away),
         .message = fmt::format("{} takes blocks again, after {}", host_, core::format_duration(away))});
}

void DeliveryTeller::add_losses(const ShipRound& round) {
    auto& [refused, gone, damaged, not_ours] = losses_;
    if (round.refused_pieces > 0) {
        refused.amount += round.refused_pieces;
        refused.subject = host_;
        refused.message = fmt::format(
            "{} will never be taken: {}",
            core::format_count(refused.amount, "piece of a stream", "pieces of streams"), round.why);
    }
    if (round.gone_blocks + round.gone_streams > 0) {
        gone.amount += round.gone_blocks;
        gone.message = gone.amount > 0 ? core::format_count(gone.amount, "block") + " left the spool unsent"
                                       : "a stream left the spool before all of it was sent";
    }
    for (const stream::Lost& lost : round.lost) {
        damaged.amount += lost.bytes;
        damaged.subject = lost.file;
        damaged.message = fmt::format("{}: {}", lost.file, lost.reason);
    }
    for (const stream::StreamId& stream : round.not_ours) {
        not_ours.subject = stream::to_text({stream, 0});
        not_ours.message =
            "another writer uses the name of a stream, so nothing more of it is sent: " + round.why;
    }
}

Note DeliveryTeller::note_of(Loss& loss) {
    Note note{.kind = loss.kind,
              .subject = std::exchange(loss.subject, {}),
              .message = std::exchange(loss.message, {})};
    if (loss.amount > 0) note.value = static_cast<double>(std::exchange(loss.amount, 0));
    return note;
}

std::vector<Note> DeliveryTeller::after(const ShipRound& round, core::Duration now) {
    std::vector<Note> notes;
    tell_state(round, now, notes);
    add_losses(round);
    for (Loss& loss : losses_)
        if (!loss.message.empty() && is_time(loss.told, now)) notes.push_back(note_of(loss));
    return notes;
}

std::vector<Note> DeliveryTeller::after(const core::Error& error, core::Duration now) {
    if (!is_time(told_error_, now)) return {};
    const int number = error.errno_value();
    return {{.kind = NoteKind::kWords,
             .code = number != 0 ? std::optional<int64_t>(number) : std::nullopt,
             .message = "the spool cannot be sent: " + core::in_one_line(error)}};
}

std::vector<Note> DeliveryTeller::last_words() {
    std::vector<Note> notes;
    for (Loss& loss : losses_)
        if (!loss.message.empty()) notes.push_back(note_of(loss));
    return notes;
}

}  // namespace belay::agent
