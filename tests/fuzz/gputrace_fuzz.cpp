// Traces of GPUs: whatever a file says, it is read or refused; what was read is written, and reads back the
// same.
#include "gpu/trace.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace belay;
    auto trace = gpu::parse_trace({reinterpret_cast<const char*>(data), size}, "trace");
    if (!trace) return 0;
    std::string text = gpu::format_trace(*trace);
    auto again = gpu::parse_trace(text, "again");
    if (!again || gpu::format_trace(*again) != text) std::abort();
    return 0;
}
