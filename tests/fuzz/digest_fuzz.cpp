// The facts that a kept digest is believed by: whatever lies in a file, it is a frame that can be filled or
// none.
#include "score/digest_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace belay;
    auto frame = score::digest_frame({reinterpret_cast<const char*>(data), size}, record::Manifest(),
                                     score::builtin_ceilings(), size % 2 == 0);
    if (!frame) return 0;
    if (frame->buckets == 0 || !(frame->bucket_seconds > 0) || !(frame->interval_seconds > 0))
        __builtin_trap();
    return 0;
}
