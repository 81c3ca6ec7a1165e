// The plan of a step, as a node reads it: whatever the bytes, a plan or an error, and a plan is written as it
// was read.
#include "step/plan.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    auto plan = belay::step::decode_step_plan(text);
    if (!plan) return 0;
    auto again = belay::step::decode_step_plan(belay::step::encode(*plan));
    if (!again || *again != *plan) std::abort();
    return 0;
}
