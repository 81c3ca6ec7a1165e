#include "bench/models/deepcam/climate_file.h"

#include "bench/schedule/share.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace belay::bench::deepcam {

namespace {

using core::bad_input;

static_assert(std::endian::native == std::endian::little,
              "files are little-endian, and written as they lie in memory");

struct ClimateHeader {
    std::array<char, 8> magic{'B', 'L', 'Y', 'C', 'L', 'I', 'M', '1'};
    uint32_t height = 0, width = 0, channels = 0;
    std::array<uint32_t, 3> zeros{};
};
static_assert(sizeof(ClimateHeader) == 32);

}  // namespace

std::string climate_name(Split split, uint32_t index) {
    return sample_name(split, index, "climate");
}

size_t climate_bytes(const Shape& image) {
    const auto cells = static_cast<size_t>(image.cells());
    return sizeof(ClimateHeader) + cells * static_cast<size_t>(image.channels) * sizeof(float) + cells;
}

std::string encode_climate(const Shape& image, std::span<const float> values, std::span<const uint8_t> mask) {
    const ClimateHeader header{.height = static_cast<uint32_t>(image.height),
                               .width = static_cast<uint32_t>(image.width),
                               .channels = static_cast<uint32_t>(image.channels)};
    std::string bytes(climate_bytes(image), '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, values.data(), values.size_bytes());
    std::memcpy(bytes.data() + sizeof header + values.size_bytes(), mask.data(), mask.size());
    return bytes;
}

core::Result<> decode_climate(std::string_view bytes, const Shape& image, std::span<float> values,
                              std::span<uint8_t> mask) {
    ClimateHeader header;
    const auto magic = header.magic;
    if (bytes.size() < sizeof header) return bad_input("it is not a climate: it has {} bytes", bytes.size());
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.magic != magic) return bad_input("it is not a climate");
    if (header.height != static_cast<uint32_t>(image.height) ||
        header.width != static_cast<uint32_t>(image.width) ||
        header.channels != static_cast<uint32_t>(image.channels))
        return bad_input("it has {} x {} cells and {} channels; this profile needs {} x {} and {}",
                         header.height, header.width, header.channels, image.height, image.width,
                         image.channels)
            .hint("write data for this profile with --write-data");
    if (bytes.size() != climate_bytes(image))
        return bad_input("it has {} bytes and should have {}: it is cut off or damaged", bytes.size(),
                         climate_bytes(image));
    std::memcpy(values.data(), bytes.data() + sizeof header, values.size_bytes());
    std::memcpy(mask.data(), bytes.data() + sizeof header + values.size_bytes(), mask.size());
    const auto damaged = std::ranges::find_if(mask, [](uint8_t value) { return value >= kClasses; });
    if (damaged != mask.end())
        return bad_input("its mask has the class {}, and there are {}: it is damaged", *damaged, kClasses);
    return {};
}

}  // namespace belay::bench::deepcam
