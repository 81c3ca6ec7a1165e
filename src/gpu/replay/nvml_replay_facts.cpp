// NVML's functions for what holds all the time.
#include "gpu/replay/playing.h"

#pragma GCC visibility push(default)
extern "C" {

using namespace belay::gpu;
using namespace belay::gpu::nvml;
using namespace belay::gpu::replay;

Return nvmlDeviceGetTemperatureThreshold(Handle device, TemperatureThreshold threshold, unsigned* celsius) {
    return fact_of(device,
                   threshold == kThresholdShutdown ? fact("shutdown_celsius") : fact("slowdown_celsius"), 1,
                   celsius);
}

Return nvmlDeviceGetApplicationsClock(Handle device, ClockType type, unsigned* clock) {
    return fact_of(
        device,
        type == kClockMemory ? fact("clock_memory_application_hertz") : fact("clock_sm_application_hertz"),
        1e6, clock);
}

Return nvmlDeviceGetMaxClockInfo(Handle device, ClockType type, unsigned* clock) {
    return fact_of(device, type == kClockMemory ? fact("clock_memory_max_hertz") : fact("clock_sm_max_hertz"),
                   1e6, clock);
}

Return nvmlDeviceGetMaxPcieLinkGeneration(Handle device, unsigned* generation) {
    return fact_of(device, fact("pcie_generation_max"), 1, generation);
}

Return nvmlDeviceGetMaxPcieLinkWidth(Handle device, unsigned* width) {
    return fact_of(device, fact("pcie_width_max"), 1, width);
}

// The last links are those that are down.
Return nvmlDeviceGetNvLinkState(Handle device, unsigned link, unsigned* up) {
    unsigned links = 0, down = 0;
    Return status = fact_of(device, fact("nvlinks"), 1, &links);
    if (status != kSuccess) return status;
    fact_of(device, fact("nvlinks_down"), 1, &down);
    *up = link + down < links ? 1 : 0;
    return link < links ? kSuccess : kInvalidArgument;
}

Return nvmlDeviceGetRetiredPages(Handle device, RetirementCause cause, unsigned* count, unsigned long long*) {
    Return status = fact_of(device, fact("retired_pages"), 1, count);
    if (cause != kCauseSingleBit) *count = 0;
    return status == kSuccess && *count > 0 ? kInsufficientSize : status;
}
}
