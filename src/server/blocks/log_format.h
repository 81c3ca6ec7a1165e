// The bytes of a block log, in which belayd keeps what agents upload until it is packed. docs/formats/block-log.md
// says the same in prose.
//
//   file   := "BELAYBLK" version:u32 reserved:u32 record*
//   record := header body
//   header := magic:u32 kind:u8 reserved:u8[3] session:u32 body_bytes:u32
//             first_block:u64 end_block:u64 first_time:i64 last_time:i64 arrived:i64
//             body_crc:u32 header_crc:u32                                          (64 bytes, little endian)
#pragma once

#include "core/time.h"
#include "server/blocks/received.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::server {

inline constexpr std::string_view kLogMagic = "BELAYBLK";
inline constexpr uint32_t kLogVersion = 1;
inline constexpr size_t kLogHeaderBytes = 16;         // of a file
inline constexpr uint32_t kRecordMagic = 0x43524242;  // "BBRC"
inline constexpr size_t kRecordHeaderBytes = 64;
// Of one record: an upload of 64 MiB, or the blocks that 100,000 streams have.
inline constexpr uint32_t kMaxRecordBytes = 80U << 20;

enum RecordKind : uint8_t {
    kStreamsRecord =
        1,  // the first: what is stored of each stream, in this file's directory, before this file
    kSessionRecord =
        2,              // head of a segment: file header and session block; what `session` means from here on
    kBlocksRecord = 3,  // whole blocks of that session, one behind the other
};

struct RecordHeader {
    uint8_t kind = 0;
    uint32_t session = 0;  // counts the session records of a file, from 0
    uint32_t body_bytes = 0;
    BlockRun blocks = {};  // of a blocks record: their numbers in the stream
    core::Time first_time =
        {};  // of its rows, earliest and latest; the latter before the former where it has none
    core::Time last_time = {};
    core::Time arrived = {};
    uint32_t body_crc = 0;  // CRC-32, as of blocks
};

std::array<char, kLogHeaderBytes> encode_log_header();
// What a file begins with.
enum class LogHead { kOurs, kNewer, kForeign };
LogHead look_at_log_header(std::string_view bytes);

std::array<char, kRecordHeaderBytes> encode_record_header(const RecordHeader& header);
// Nothing if these are not the bytes of a header, or it states a size beyond the bound. `bytes` holds at least
// kRecordHeaderBytes.
std::optional<RecordHeader> decode_record_header(std::string_view bytes);

}  // namespace belay::server
