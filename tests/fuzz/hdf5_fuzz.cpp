// What is looked at of an HDF5 file before libhdf5 may see it: heaps that do not end, streams that expand without end.
#include "bench/models/deepcam/files/inflated_size.h"
#include "bench/models/deepcam/files/local_heaps.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <zlib.h>

using namespace belay::bench::deepcam;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr uint64_t kLimit = 1 << 16;
    constexpr uLong kChunk = 1 << 15;  // by which it is expanded
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (const auto checked = check_local_heaps(bytes); !checked && checked.error().message().empty()) abort();
    const auto expanded = inflated_size(bytes, kLimit);
    if (expanded && *expanded > kLimit + kChunk) abort();
    // The input as content: it comes back with its own length.
    uLongf room = compressBound(static_cast<uLong>(size));
    std::string packed(room, '\0');
    if (compress2(reinterpret_cast<Bytef*>(packed.data()), &room, data, static_cast<uLong>(size), 1) != Z_OK)
        abort();
    packed.resize(room);
    if (size <= kLimit && inflated_size(packed, kLimit).value() != size) abort();
    return 0;
}
