// A place in a node stream, from which whoever has read up to there goes on.
//
// Its text is "1/CLUSTER/NODE/BOOT/SOURCE/BEGAN/NEXT": version, the parts of the stream's identity with every
// byte but letters, digits, ".", "_" and "-" as "%2F", nanoseconds, and the number of the next block. Equal
// cursors have equal texts.
#pragma once

#include "core/error.h"
#include "stream/stream_id.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::stream {

struct Cursor {
    StreamId stream;
    uint64_t next_block = 0;
    auto operator<=>(const Cursor&) const = default;
};

// Names longer than this are no stream's: no cursor has them, no spool reader looks at such files.
inline constexpr size_t kMaxStreamName = 255;
bool has_usable_names(const StreamId& stream);

std::string to_text(const Cursor& cursor);
// Errors: kBadInput for anything that to_text() would not write.
core::Result<Cursor> parse_cursor(std::string_view text);

}  // namespace belay::stream
