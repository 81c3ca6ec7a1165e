#include "stream/block_walk.h"

#include <algorithm>
#include <cstring>

namespace belay::stream {

using core::Result;

namespace {

// Where the next header with a right checksum begins; the end where there is none.
Result<uint64_t> next_header(SegmentBytes& bytes, uint64_t from) {
    for (;;) {
        from = bytes.skip_hole(from);
        BELAY_TRY(rest, bytes.at(from, kBlockHeaderBytes));
        if (rest.size() < kBlockHeaderBytes) return bytes.size();
        const auto* found = static_cast<const char*>(
            memchr(rest.data(), static_cast<char>(kBlockMagic & 0xff), rest.size() - kBlockHeaderBytes + 1));
        if (found == nullptr) {
            from += rest.size() - kBlockHeaderBytes + 1;
            continue;
        }
        const auto skipped = static_cast<size_t>(found - rest.data());
        if (decode_block_header(rest.substr(skipped))) return from + skipped;
        from += skipped + 1;
    }
}

}  // namespace

Result<FoundHead> find_head(SegmentBytes& bytes) {
    BELAY_TRY(header, bytes.at(0, kFileHeaderBytes));
    if (header.empty()) return FoundHead{FileHead::kEmpty, 0};
    if (!header.starts_with(kSegmentMagic)) return FoundHead{FileHead::kForeign, 0};
    if (header.size() > kSegmentMagic.size() &&
        static_cast<uint8_t>(header[kSegmentMagic.size()]) > kSegmentVersion)
        return FoundHead{FileHead::kNewer, bytes.size()};
    return FoundHead{FileHead::kOurs, std::min<uint64_t>(kFileHeaderBytes, bytes.size())};
}

Result<FoundBlock> find_block(SegmentBytes& bytes, uint64_t at) {
    BELAY_TRY(start, bytes.at(at, kBlockHeaderBytes));
    const bool is_short = start.size() < kBlockHeaderBytes;
    std::optional<BlockHeader> header;
    if (!is_short) header = decode_block_header(start);
    if (!header) {
        BELAY_TRY(next, next_header(bytes, at + 1));
        const bool is_tail = next == bytes.size();
        return FoundBlock{.at = at,
                          .next = next,
                          .header = {},
                          .problem = is_tail && is_short ? "truncated block" : "foreign or damaged bytes",
                          .is_tail = is_tail};
    }
    const uint64_t end = at + kBlockHeaderBytes + header->stored_bytes;
    if (end <= bytes.size()) return FoundBlock{.at = at, .next = end, .header = header};
    // The file was cut off inside this block, unless a later block proves that its header lied.
    BELAY_TRY(next, next_header(bytes, at + kBlockHeaderBytes));
    return FoundBlock{
        .at = at, .next = next, .header = {}, .problem = "truncated block", .is_tail = next == bytes.size()};
}

}  // namespace belay::stream
