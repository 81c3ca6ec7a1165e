// Ceilings of GPUs: whatever a site writes, it is read or refused.
#include "score/ceilings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace belay;
    auto ceilings = score::parse_ceilings({reinterpret_cast<const char*>(data), size}, "ceilings.toml");
    if (!ceilings) return 0;
    for (const score::DeviceCeilings& device : *ceilings)
        if (device.match.empty()) __builtin_trap();
    return 0;
}
