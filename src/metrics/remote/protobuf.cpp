#include "metrics/remote/protobuf.h"

namespace belay::metrics::remote {

namespace {

enum class Wire : uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2 };

void add_varint(std::string& message, uint64_t value) {
    for (; value >= 0x80; value >>= 7) message += static_cast<char>((value & 0x7f) | 0x80);
    message += static_cast<char>(value);
}

void add_key(std::string& message, uint32_t field, Wire wire) {
    add_varint(message, (uint64_t{field} << 3) | static_cast<uint8_t>(wire));
}

size_t varint_size(uint64_t value) {
    size_t bytes = 1;
    for (; value >= 0x80; value >>= 7) ++bytes;
    return bytes;
}

}  // namespace

void add_integer(std::string& message, uint32_t field, int64_t value) {
    if (value == 0) return;
    add_key(message, field, Wire::kVarint);
    add_varint(message, static_cast<uint64_t>(value));  // a negative one takes ten bytes
}

void add_double_bits(std::string& message, uint32_t field, uint64_t bits) {
    if (bits == 0) return;
    add_key(message, field, Wire::kFixed64);
    for (int shift = 0; shift < 64; shift += 8) message += static_cast<char>((bits >> shift) & 0xff);
}

void add_text(std::string& message, uint32_t field, std::string_view text) {
    if (!text.empty()) add_message(message, field, text);
}

void add_message(std::string& message, uint32_t field, std::string_view inner) {
    add_key(message, field, Wire::kLengthDelimited);
    add_varint(message, inner.size());
    message += inner;
}

size_t message_size(uint32_t field, size_t inner_bytes) {
    return varint_size(uint64_t{field} << 3) + varint_size(inner_bytes) + inner_bytes;
}

}  // namespace belay::metrics::remote
