// What the courier tells the process that samples: events for the stream, words for people, and how far it has read.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::agent {

enum class NoteKind : uint8_t {
    kReadTo,   // `value`: the number of the block of the agent's stream that it reads next
    kAway,     // belayd takes no blocks
    kBack,     // it takes them again; `value`: seconds that this was
    kRefused,  // it will never take blocks; `value`: how many pieces
    kGone,     // blocks left the spool before they were sent; `value`: how many, where that is known
    kNotOurs,  // another writer uses the name of a stream
    kDamaged,  // a part of the spool could not be read; `value`: bytes
    kWords,    // for people only
};

// How a note is told. Events are all of the kind stream_lost: it is the kind that the schema has for what does not
// arrive. One with the value 0 says that nothing is lost so far.
struct NoteRow {
    NoteKind kind;
    std::string_view name;
    std::string_view severity;  // of the event; empty: it is none
    bool is_told = true;        // to people, as a message
    bool counts_loss = false;   // its value is that of the event
};
inline constexpr NoteRow kNoteRows[] = {
    {NoteKind::kReadTo, "read_to", "", false},
    {NoteKind::kAway, "away", "info"},
    {NoteKind::kBack, "back", "info"},
    {NoteKind::kRefused, "refused", "warning", true, true},
    {NoteKind::kGone, "gone", "warning", true, true},
    {NoteKind::kNotOurs, "not_ours", "warning"},
    {NoteKind::kDamaged, "damaged", "warning", true, true},
    {NoteKind::kWords, "words", ""},
};
constexpr const NoteRow& row_of(NoteKind kind) {
    return kNoteRows[static_cast<size_t>(kind)];
}

struct Note {
    NoteKind kind = NoteKind::kWords;
    std::string subject = {};  // whom it concerns: belayd's address, a stream, a file
    std::optional<double> value = {};
    std::optional<int64_t> code = {};  // the system's error number
    std::string message = {};          // for people
    bool operator==(const Note&) const = default;
};

// Longer texts are cut, so that a note is one datagram.
inline constexpr size_t kMostNoteText = 1000;
inline constexpr size_t kMostNoteBytes = size_t{16} << 10;  // each byte of a text may become six

std::string encode_note(const Note& note);
// Errors: kBadInput for what encode_note() did not write.
core::Result<Note> decode_note(std::string_view bytes);

}  // namespace belay::agent
