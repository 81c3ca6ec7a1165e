// For tests: CosmoFlow's own files, put together byte by byte from what is written of their format.
#pragma once

#include "bench/models/cosmoflow/universe.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <zlib.h>

namespace belay::bench::cosmoflow {

template <typename Number>
std::string number_bytes(Number number) {
    std::string bytes(sizeof number, '\0');
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
}

// CRC32C bit by bit, turned and added to.
inline uint32_t checksum_of(std::string_view bytes) {
    uint32_t crc = ~0U;
    for (const char byte : bytes) {
        crc ^= static_cast<uint8_t>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}
inline std::string record_bytes(std::string_view data) {
    const std::string length = number_bytes(uint64_t{data.size()});
    return length + number_bytes(checksum_of(length)) + std::string(data) + number_bytes(checksum_of(data));
}

inline std::string varint_bytes(uint64_t number) {
    std::string bytes;
    for (; number > 127; number >>= 7) bytes += static_cast<char>(number | 128);
    return bytes + static_cast<char>(number);
}
inline std::string field_bytes(uint32_t number, std::string_view content) {
    return varint_bytes(number << 3 | 2) + varint_bytes(content.size()) + std::string(content);
}
inline std::string bytes_list(std::string_view value) {
    return field_bytes(1, field_bytes(1, value));
}
inline std::string float_list(std::span<const float> values) {
    std::string packed;
    for (const float value : values) packed += number_bytes(value);
    return field_bytes(2, field_bytes(1, packed));
}
inline std::string feature_bytes(std::string_view name, std::string_view feature) {
    return field_bytes(1, field_bytes(1, name) + field_bytes(2, feature));
}
inline std::string example_bytes(std::string_view x, std::span<const float> y) {
    return field_bytes(1, feature_bytes("y", float_list(y)) + feature_bytes("x", bytes_list(x)));
}

// [channel][cell] to [cell][channel].
inline std::string x_bytes(std::span<const int16_t> counts) {
    const size_t cells = counts.size() / kChannels;
    std::string bytes;
    for (size_t cell = 0; cell < cells; ++cell)
        for (size_t channel = 0; channel < kChannels; ++channel)
            bytes += number_bytes(counts[channel * cells + cell]);
    return bytes;
}
inline std::string universe_record(const Parameters& parameters, std::span<const int16_t> counts) {
    return record_bytes(example_bytes(x_bytes(counts), parameters));
}

// One member, as gzip writes it.
inline std::string gzip_bytes(std::string_view bytes) {
    z_stream stream{};
    deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&stream, bytes.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

}  // namespace belay::bench::cosmoflow
