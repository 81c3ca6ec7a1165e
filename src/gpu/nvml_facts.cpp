#include "gpu/nvml_facts.h"

namespace belay::gpu {

using namespace nvml;

namespace {

// One number of the device, if it has it.
template <typename Function, typename... Arguments>
double number(Handle device, double unit, Function function, Arguments... arguments) {
    unsigned raw = 0;
    if (function == nullptr || function(device, arguments..., &raw) != kSuccess) return kMissing;
    return raw * unit;
}

// Hopper and newer tell the distance from slowing down, not the temperature at which they do.
double slowdown(const Library& library, Handle device) {
    double threshold = number(device, 1, library.temperature_threshold, kThresholdSlowdown);
    MarginTemperature margin{.version = kMarginVersion};
    if (!std::isnan(threshold) || library.temperature_margin == nullptr ||
        library.temperature_margin(device, &margin) != kSuccess)
        return threshold;
    return number(device, 1, library.temperature, kTemperatureGpu) + margin.celsius;
}

void read_links(const Library& library, Handle device, Facts& facts) {
    double links = 0, down = 0;
    for (unsigned link = 0; link < kMostNvlinks; ++link) {
        unsigned up = 0;
        if (library.nvlink_state == nullptr || library.nvlink_state(device, link, &up) != kSuccess) continue;
        ++links;
        if (up == 0) ++down;
    }
    if (links == 0) return;
    facts[fact("nvlinks")] = links;
    facts[fact("nvlinks_down")] = down;
}

double retired_pages(const Library& library, Handle device) {
    double pages = 0;
    for (RetirementCause cause : {kCauseSingleBit, kCauseDoubleBit}) {
        unsigned count = 0;  // no space for the addresses: it only counts
        Return status = library.retired_pages == nullptr
                            ? kFunctionNotFound
                            : library.retired_pages(device, cause, &count, nullptr);
        if (status != kSuccess && status != kInsufficientSize) return kMissing;
        pages += count;
    }
    return pages;
}

double recovery_action(const Library& library, Handle device) {
    FieldValue action{.field = kFieldRecoveryAction};
    if (library.field_values == nullptr || library.field_values(device, 1, &action) != kSuccess ||
        action.status != kSuccess || action.type != kUnsignedInt)
        return kMissing;
    return action.value.unsigned_int;
}

}  // namespace

Facts read_facts(const Library& library, Handle device) {
    Facts facts;
    facts[fact("slowdown_celsius")] = slowdown(library, device);
    facts[fact("shutdown_celsius")] = number(device, 1, library.temperature_threshold, kThresholdShutdown);
    facts[fact("clock_sm_application_hertz")] = number(device, kMega, library.application_clock, kClockSm);
    facts[fact("clock_memory_application_hertz")] =
        number(device, kMega, library.application_clock, kClockMemory);
    facts[fact("clock_sm_max_hertz")] = number(device, kMega, library.max_clock, kClockSm);
    facts[fact("clock_memory_max_hertz")] = number(device, kMega, library.max_clock, kClockMemory);
    facts[fact("pcie_generation_max")] = number(device, 1, library.pcie_max_generation);
    facts[fact("pcie_width_max")] = number(device, 1, library.pcie_max_width);
    read_links(library, device, facts);
    facts[fact("recovery_action")] = recovery_action(library, device);
    facts[fact("retired_pages")] = retired_pages(library, device);
    return facts;
}

}  // namespace belay::gpu
