#include "server/packed/packed_format.h"

#include "stream/segment_format.h"

#include <algorithm>
#include <cstddef>

namespace belay::server {

namespace {

template <typename Number>
char* put_number(char* at, Number value) {
    for (size_t i = 0; i < sizeof(Number); ++i)
        *at++ = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xFF);
    return at;
}

template <typename Number>
Number take_number(std::string_view& rest) {
    uint64_t value = 0;
    for (size_t i = sizeof(Number); i > 0; --i) value = value << 8 | static_cast<uint8_t>(rest[i - 1]);
    rest.remove_prefix(sizeof(Number));
    return static_cast<Number>(value);
}

// The checksum at the end of these bytes is that of what stands before it.
bool has_right_checksum(std::string_view bytes) {
    std::string_view sum = bytes.substr(bytes.size() - sizeof(uint32_t));
    return take_number<uint32_t>(sum) == stream::checksum(bytes.substr(0, bytes.size() - sizeof(uint32_t)));
}

}  // namespace

std::array<char, kPackedHeadBytes> encode_packed_head() {
    std::array<char, kPackedHeadBytes> bytes{};
    char* at = std::ranges::copy(kPackedMagic, bytes.begin()).out;
    put_number(at, kPackedVersion);
    return bytes;
}

PackedHead look_at_packed_head(std::string_view bytes) {
    if (bytes.size() < kPackedHeadBytes || !bytes.starts_with(kPackedMagic)) return PackedHead::kForeign;
    bytes.remove_prefix(kPackedMagic.size());
    return take_number<uint32_t>(bytes) > kPackedVersion ? PackedHead::kNewer : PackedHead::kOurs;
}

std::array<char, kPartHeaderBytes> encode_part_header(const PartHeader& header) {
    std::array<char, kPartHeaderBytes> bytes{};
    char* at = put_number(bytes.data(), kPartMagic);
    at = put_number(at, header.kind);
    at = put_number(at, header.compression);
    at = put_number(at, header.table);
    at = put_number(at, header.stream);
    at = put_number(at, header.rows);
    at = put_number(at, header.stored_bytes);
    at = put_number(at, header.raw_bytes);
    at = put_number(at, core::to_nanoseconds(header.first_time));
    at = put_number(at, core::to_nanoseconds(header.last_time));
    at = put_number(at, header.payload_crc);
    put_number(at, stream::checksum({bytes.data(), static_cast<size_t>(at - bytes.data())}));
    return bytes;
}

std::optional<PartHeader> decode_part_header(std::string_view bytes) {
    bytes = bytes.substr(0, kPartHeaderBytes);
    std::string_view rest = bytes;
    if (take_number<uint32_t>(rest) != kPartMagic || !has_right_checksum(bytes)) return std::nullopt;
    PartHeader header;
    header.kind = take_number<uint8_t>(rest);
    header.compression = take_number<uint8_t>(rest);
    header.table = take_number<uint16_t>(rest);
    header.stream = take_number<uint32_t>(rest);
    header.rows = take_number<uint32_t>(rest);
    header.stored_bytes = take_number<uint32_t>(rest);
    header.raw_bytes = take_number<uint32_t>(rest);
    header.first_time = core::time_from_nanoseconds(take_number<int64_t>(rest));
    header.last_time = core::time_from_nanoseconds(take_number<int64_t>(rest));
    header.payload_crc = take_number<uint32_t>(rest);
    if (header.stored_bytes > kMaxPartBytes || header.raw_bytes > kMaxPartBytes) return std::nullopt;
    if (header.kind == kRowsPart && header.rows > kMaxPartRows) return std::nullopt;
    if (header.stream >= kMaxPackedStreams) return std::nullopt;
    return header;
}

std::array<char, kTailBytes> encode_packed_tail(const PackedTail& tail) {
    std::array<char, kTailBytes> bytes{};
    char* at = put_number(bytes.data(), kTailMagic);
    at = put_number(at, tail.index_bytes);
    at = put_number(at, tail.index_at);
    at = put_number(at, uint32_t{0});
    put_number(at, stream::checksum({bytes.data(), static_cast<size_t>(at - bytes.data())}));
    return bytes;
}

std::optional<PackedTail> decode_packed_tail(std::string_view bytes) {
    bytes = bytes.substr(0, kTailBytes);
    std::string_view rest = bytes;
    if (take_number<uint32_t>(rest) != kTailMagic || !has_right_checksum(bytes)) return std::nullopt;
    PackedTail tail;
    tail.index_bytes = take_number<uint32_t>(rest);
    tail.index_at = take_number<uint64_t>(rest);
    return tail;
}

}  // namespace belay::server
