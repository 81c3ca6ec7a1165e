#include "progress/mllog.h"

#include <cstdint>
#include <string_view>

// Whatever a job prints must be read without a crash.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    belay::progress::parse_mllog({reinterpret_cast<const char*>(data), size});
    return 0;
}
