#include "stream/segment_format.h"

#include <zlib.h>

namespace belay::stream {

namespace {

// Fields at their places in the header, least significant byte first whatever the machine's order.
void store(std::array<char, kBlockHeaderBytes>& bytes, size_t at, size_t size, uint32_t value) {
    for (size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xff);
}

uint32_t load(std::string_view bytes, size_t at, size_t size) {
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i)
        value |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
    return value;
}

}  // namespace

uint32_t checksum(std::string_view bytes) {
    return static_cast<uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

std::array<char, kBlockHeaderBytes> encode_block_header(const BlockHeader& header) {
    std::array<char, kBlockHeaderBytes> bytes{};
    store(bytes, 0, 4, kBlockMagic);
    store(bytes, 4, 1, header.kind);
    store(bytes, 5, 1, header.compression);
    store(bytes, 6, 2, header.table);
    store(bytes, 8, 4, header.rows);
    store(bytes, 12, 4, header.stored_bytes);
    store(bytes, 16, 4, header.raw_bytes);
    store(bytes, 20, 4, header.sequence);
    store(bytes, 24, 4, header.payload_crc);
    store(bytes, 28, 4, checksum({bytes.data(), 28}));
    return bytes;
}

std::optional<BlockHeader> decode_block_header(std::string_view bytes) {
    if (load(bytes, 0, 4) != kBlockMagic || load(bytes, 28, 4) != checksum(bytes.substr(0, 28)))
        return std::nullopt;
    BlockHeader header{
        .kind = static_cast<uint8_t>(load(bytes, 4, 1)),
        .compression = static_cast<uint8_t>(load(bytes, 5, 1)),
        .table = static_cast<uint16_t>(load(bytes, 6, 2)),
        .rows = load(bytes, 8, 4),
        .stored_bytes = load(bytes, 12, 4),
        .raw_bytes = load(bytes, 16, 4),
        .sequence = load(bytes, 20, 4),
        .payload_crc = load(bytes, 24, 4),
    };
    if (header.stored_bytes > kMaxBlockBytes || header.raw_bytes > kMaxBlockBytes ||
        header.rows > kMaxBlockRows)
        return std::nullopt;
    return header;
}

}  // namespace belay::stream
