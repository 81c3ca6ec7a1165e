#include "server/blocks/log_format.h"

#include "stream/segment_format.h"

#include <algorithm>
#include <cstddef>

namespace belay::server {

namespace {

template <typename Number>
char* put(char* at, Number value) {
    for (size_t i = 0; i < sizeof(Number); ++i)
        *at++ = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xFF);
    return at;
}

template <typename Number>
Number take(std::string_view& rest) {
    uint64_t value = 0;
    for (size_t i = sizeof(Number); i > 0; --i) value = value << 8 | static_cast<uint8_t>(rest[i - 1]);
    rest.remove_prefix(sizeof(Number));
    return static_cast<Number>(value);
}

}  // namespace

std::array<char, kLogHeaderBytes> encode_log_header() {
    std::array<char, kLogHeaderBytes> bytes{};
    char* at = std::ranges::copy(kLogMagic, bytes.begin()).out;
    put(at, kLogVersion);
    return bytes;
}

LogHead look_at_log_header(std::string_view bytes) {
    if (bytes.size() < kLogHeaderBytes || !bytes.starts_with(kLogMagic)) return LogHead::kForeign;
    bytes.remove_prefix(kLogMagic.size());
    return take<uint32_t>(bytes) > kLogVersion ? LogHead::kNewer : LogHead::kOurs;
}

std::array<char, kRecordHeaderBytes> encode_record_header(const RecordHeader& header) {
    std::array<char, kRecordHeaderBytes> bytes{};
    char* at = put(bytes.data(), kRecordMagic);
    at = put(at, uint32_t{header.kind});
    at = put(at, header.session);
    at = put(at, header.body_bytes);
    at = put(at, header.blocks.first);
    at = put(at, header.blocks.end);
    at = put(at, core::to_nanoseconds(header.first_time));
    at = put(at, core::to_nanoseconds(header.last_time));
    at = put(at, core::to_nanoseconds(header.arrived));
    at = put(at, header.body_crc);
    put(at, stream::checksum({bytes.data(), static_cast<size_t>(at - bytes.data())}));
    return bytes;
}

std::optional<RecordHeader> decode_record_header(std::string_view bytes) {
    const std::string_view summed = bytes.substr(0, kRecordHeaderBytes - sizeof(uint32_t));
    if (take<uint32_t>(bytes) != kRecordMagic) return std::nullopt;
    RecordHeader header;
    header.kind = static_cast<uint8_t>(take<uint32_t>(bytes));
    header.session = take<uint32_t>(bytes);
    header.body_bytes = take<uint32_t>(bytes);
    header.blocks.first = take<uint64_t>(bytes);
    header.blocks.end = take<uint64_t>(bytes);
    header.first_time = core::time_from_nanoseconds(take<int64_t>(bytes));
    header.last_time = core::time_from_nanoseconds(take<int64_t>(bytes));
    header.arrived = core::time_from_nanoseconds(take<int64_t>(bytes));
    header.body_crc = take<uint32_t>(bytes);
    if (take<uint32_t>(bytes) != stream::checksum(summed) || header.body_bytes > kMaxRecordBytes)
        return std::nullopt;
    return header;
}

}  // namespace belay::server
