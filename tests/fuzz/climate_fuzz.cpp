// A climate in a file: what is accepted is written as it was read.
#include "bench/models/deepcam/climate_file.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

using namespace belay::bench::deepcam;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const Shape image{.channels = 4, .height = 2, .width = 3};
    std::vector<float> values(24);
    std::vector<uint8_t> mask(6);
    if (!decode_climate(bytes, image, values, mask)) return 0;
    // All but the 12 bytes of the header that stand for nothing.
    const std::string again = encode_climate(image, values, mask);
    if (again.size() != size || std::string_view(again).substr(32) != bytes.substr(32)) abort();
    return 0;
}
