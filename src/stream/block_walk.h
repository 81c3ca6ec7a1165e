// Finds the blocks of a segment, whatever lies between them. Nothing is unpacked.
#pragma once

#include "core/error.h"
#include "stream/segment_bytes.h"
#include "stream/segment_format.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::stream {

// What a segment begins with.
enum class FileHead {
    kEmpty,    // nothing
    kForeign,  // no header of ours: blocks may follow all the same
    kNewer,    // a later version of the format: nothing of it can be read
    kOurs,
};
struct FoundHead {
    FileHead head;
    uint64_t next;  // where blocks begin
};
core::Result<FoundHead> find_head(SegmentBytes& bytes);

// A block with a header that is right and as many bytes behind it as that says, or a place without one.
struct FoundBlock {
    uint64_t at = 0;
    uint64_t next = 0;                  // where to go on
    std::optional<BlockHeader> header;  // nothing: no block
    std::string_view problem = {};      // then: what stands there
    bool is_tail = false;               // no block follows: the file may just have been cut there, or grow

    uint64_t bytes() const { return next - at; }
};
// The block at this place, or else what lies up to the next one. Errors: kSystem.
core::Result<FoundBlock> find_block(SegmentBytes& bytes, uint64_t at);

}  // namespace belay::stream
