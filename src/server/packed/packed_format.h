// The bytes of a packed file, in which belayd keeps rows of many nodes for days. docs/formats/packed-log.md says the same in prose.
//
//   file   := head part* index tail
//   head   := "BELAYPAK" version:u32 reserved:u32
//   part   := header payload
//   header := magic:u32 kind:u8 compression:u8 table:u16 stream:u32 rows:u32 stored_bytes:u32 raw_bytes:u32
//             first_time:i64 last_time:i64 payload_crc:u32 header_crc:u32                   (48 bytes, little endian)
//   index  := part of the kind kIndexPart
//   tail   := magic:u32 index_bytes:u32 index_at:u64 reserved:u32 tail_crc:u32              (24 bytes)
#pragma once

#include "core/time.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::server {

inline constexpr std::string_view kPackedMagic = "BELAYPAK";
inline constexpr uint32_t kPackedVersion = 1;
inline constexpr size_t kPackedHeadBytes = 16;
inline constexpr uint32_t kPartMagic = 0x54525042;  // "BPRT"
inline constexpr size_t kPartHeaderBytes = 48;
inline constexpr uint32_t kTailMagic = 0x4C495442;  // "BTIL"
inline constexpr size_t kTailBytes = 24;

// Of one part, unpacked and packed: pieces of a log are as large as their blocks, which are bounded so (stream/segment_format.h),
// and a header.
inline constexpr uint32_t kMaxPartBytes = 80U << 20;
inline constexpr uint32_t kMaxPartRows = 1U << 16;
inline constexpr uint32_t kMaxPackedStreams = 1U << 24;

enum PartKind : uint8_t {
    kFactsPart = 1,   // JSON: what the file is, and by which schema its rows are encoded; the first part
    kStreamPart = 2,  // which stream the parts with its number are of, and which of its blocks the file has
    kRowsPart = 3,    // rows of one table
    kPiecePart =
        4,  // blocks of a log as they came, with their session: what this version does not know whole
    kIndexPart = 5,  // all of the kinds 1 and 2 again, and where the others lie
};

struct PartHeader {
    uint8_t kind = 0;
    uint8_t compression = 0;  // as in segments: 0 none, 1 zstd
    uint16_t table = 0;       // of rows: number in the list of the facts
    uint32_t stream = 0;      // counts the streams of the file, from 0
    uint32_t rows = 0;
    uint32_t stored_bytes = 0;
    uint32_t raw_bytes = 0;
    core::Time first_time = {}, last_time = {};  // of its rows
    uint32_t payload_crc = 0;                    // CRC-32, as of blocks

    bool operator==(const PartHeader&) const = default;
};

struct PackedTail {
    uint64_t index_at = 0;
    uint32_t index_bytes = 0;  // header and payload
};

std::array<char, kPackedHeadBytes> encode_packed_head();
enum class PackedHead { kOurs, kNewer, kForeign };
PackedHead look_at_packed_head(std::string_view bytes);

std::array<char, kPartHeaderBytes> encode_part_header(const PartHeader& header);
// Nothing if these are not the bytes of a header, or it states sizes beyond the bounds. `bytes` holds at least kPartHeaderBytes.
std::optional<PartHeader> decode_part_header(std::string_view bytes);

std::array<char, kTailBytes> encode_packed_tail(const PackedTail& tail);
// Likewise; `bytes` holds at least kTailBytes.
std::optional<PackedTail> decode_packed_tail(std::string_view bytes);

}  // namespace belay::server
