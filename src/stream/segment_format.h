// The bytes of a segment, shared by its writer and reader. docs/formats/segment.md says the same in prose.
//
//   file   := "BELAYSEG" version:u32 reserved:u32 block*
//   block  := header payload
//   header := magic:u32 kind:u8 compression:u8 table:u16 rows:u32 stored_bytes:u32 raw_bytes:u32 sequence:u32
//             payload_crc:u32 header_crc:u32                                                  (32 bytes,
//             little endian)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::stream {

inline constexpr std::string_view kSegmentMagic = "BELAYSEG";
inline constexpr uint32_t kSegmentVersion = 1;
inline constexpr size_t kFileHeaderBytes = 16;
inline constexpr uint32_t kBlockMagic = 0x4b4c4242;  // "BBLK"
inline constexpr size_t kBlockHeaderBytes = 32;

// Bounds on what a reader will believe, far above what a recorder writes. Of rows the writer makes as many
// blocks as it takes to keep them.
inline constexpr uint32_t kMaxBlockBytes = 64U << 20;
inline constexpr uint32_t kMaxBlockRows = 1U << 16;
// Of all texts in one block, each counted as often as it stands in a row: a block states a text once and may
// name it in every row.
inline constexpr uint64_t kMaxBlockTextBytes = kMaxBlockBytes;
// Of blocks without rows: a session states fifteen tables with some 300 columns, in 10 kB.
inline constexpr uint32_t kMaxJsonBytes = 1U << 20;
inline constexpr size_t kMaxTables = 256;
inline constexpr size_t kMaxColumns = 1024;  // of one table

// Of blocks in a stream: no writer lives so long.
inline constexpr uint64_t kMaxBlockNumber = uint64_t{1} << 62;

// Of an UnpackBudget. Measured on what the writer makes of full blocks of rows in which only the time
// changes: 1 to 10,000 with clocks as they are, 1 to 29,000 with time in even steps; of the rows of a default
// flush, at most 1 to 450.
inline constexpr uint64_t kUnpackedFloor = 256ULL << 20;
inline constexpr uint64_t kUnpackedRatio = 32'768;

// Places at which a segment was damaged that are told one by one.
inline constexpr size_t kMaxLost = 1000;

enum BlockKind : uint8_t {
    kSessionBlock = 1,  // JSON: the session and the schema by which rows are encoded
    kRowsBlock = 2,     // column count, then the columns of `table` (an index into the session's list)
    kEndBlock = 3,      // JSON: when the recorder closed the segment
};
enum Compression : uint8_t { kPlain = 0, kZstd = 1 };

struct BlockHeader {
    uint8_t kind = 0;
    uint8_t compression = 0;
    uint16_t table = 0;
    uint32_t rows = 0;
    uint32_t stored_bytes = 0;
    uint32_t raw_bytes = 0;
    uint32_t sequence = 0;
    uint32_t payload_crc = 0;
};

// CRC-32 (IEEE 802.3, as zlib's).
uint32_t checksum(std::string_view bytes);

std::array<char, kBlockHeaderBytes> encode_block_header(const BlockHeader& header);
// Nothing if these are not the bytes of a header, or it states sizes beyond the bounds. `bytes` holds at
// least kBlockHeaderBytes.
std::optional<BlockHeader> decode_block_header(std::string_view bytes);

}  // namespace belay::stream
