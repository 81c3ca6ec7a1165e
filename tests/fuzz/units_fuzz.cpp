// Durations, sizes and bandwidths from any text: what is accepted must survive being written and read again.
#include "core/units.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace belay::core;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    if (auto duration = parse_duration(text);
        duration && parse_duration(to_text(*duration)).value() != *duration)
        abort();
    if (auto bytes = parse_size(text); bytes && parse_size(to_text(*bytes)).value() != *bytes) abort();
    if (auto speed = parse_bandwidth(text); speed && parse_bandwidth(to_text(*speed)).value() != *speed)
        abort();
    return 0;
}
