#include "bench/models/cosmoflow/universe_file.h"

#include "bench/schedule/share.h"

#include <bit>
#include <cstring>

namespace belay::bench::cosmoflow {

namespace {

using core::bad_input;

static_assert(std::endian::native == std::endian::little,
              "files are little-endian, and written as they lie in memory");

struct Header {
    std::array<char, 8> magic{'B', 'L', 'Y', 'U', 'N', 'I', 'V', '1'};
    uint32_t side = 0;
    uint32_t channels = kChannels;
    Parameters parameters{};
};
static_assert(sizeof(Header) == 32);

size_t values(uint32_t side) {
    return kChannels * size_t{side} * side * side;
}

}  // namespace

std::string universe_name(Split split, uint32_t index) {
    return sample_name(split, index, "universe");
}

size_t universe_bytes(uint32_t side) {
    return sizeof(Header) + values(side) * sizeof(int16_t);
}

std::string encode_universe(uint32_t side, const Parameters& parameters, std::span<const int16_t> counts) {
    const Header header{.side = side, .parameters = parameters};
    std::string bytes(sizeof header + counts.size_bytes(), '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, counts.data(), counts.size_bytes());
    return bytes;
}

core::Result<Parameters> decode_universe(std::string_view bytes, uint32_t side, std::span<int16_t> counts) {
    Header header;
    const auto magic = header.magic;
    if (bytes.size() < sizeof header) return bad_input("it is not a universe: it has {} bytes", bytes.size());
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.magic != magic || header.channels != kChannels) return bad_input("it is not a universe");
    if (header.side != side)
        return bad_input("it has {} cells per edge; this profile needs {}", header.side, side)
            .hint("write data for this profile with --write-data");
    if (bytes.size() != universe_bytes(side))
        return bad_input("it has {} bytes and should have {}: it is cut off or damaged", bytes.size(),
                         universe_bytes(side));
    std::memcpy(counts.data(), bytes.data() + sizeof header, counts.size_bytes());
    return header.parameters;
}

}  // namespace belay::bench::cosmoflow
