// What holds for a GPU for longer than a sample, and is asked when a node is vetted: limits, links, what it
// asks for.
#pragma once

#include "gpu/field.h"

namespace belay::gpu {

struct Fact {
    std::string_view name;  // ends in its base unit
    std::string_view doc;
};

inline constexpr Fact kFacts[] = {
    {"slowdown_celsius", "temperature from which on the hardware lowers the clocks"},
    {"shutdown_celsius", "temperature at which the GPU switches itself off"},
    {"clock_sm_application_hertz", "clock of the multiprocessors that is set for programs"},
    {"clock_memory_application_hertz", "clock of the memory that is set for programs"},
    {"clock_sm_max_hertz", "highest clock of the multiprocessors"},
    {"clock_memory_max_hertz", "highest clock of the memory"},
    {"pcie_generation_max", "that GPU and slot can have"},
    {"pcie_width_max", "lanes that GPU and slot can have"},
    {"nvlinks", "links that the GPU has"},
    {"nvlinks_down", "links of those that are not up"},
    {"recovery_action",
     "what the GPU asks for: 0 nothing, 1 reset, 2 reboot, 3 drain, 4 drain and reset, 5 recover IMEX"},
    {"retired_pages", "pages of memory taken out of use, before there was remapping"},
};
inline constexpr size_t kFactCount = std::size(kFacts);

// As field(): the index of a fact, at compile time.
consteval size_t fact(std::string_view name) {
    for (size_t i = 0; i < kFactCount; ++i)
        if (kFacts[i].name == name) return i;
    throw "there is no such fact";
}

// kMissing where the device or its driver does not tell.
struct Facts {
    Facts() { values.fill(kMissing); }
    double& operator[](size_t index) { return values[index]; }
    double operator[](size_t index) const { return values[index]; }
    std::array<double, kFactCount> values;
};

}  // namespace belay::gpu
