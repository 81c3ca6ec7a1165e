// Traces that nobody recorded: what a kind of work looks like to NVML, for tests and demonstrations. Their
// numbers are made up from the ceilings of the worked examples (tensor 0.90 at 1755 MHz, DRAM 0.80); nothing
// is calibrated on them.
#pragma once

#include "gpu/trace.h"

#include <span>
#include <string_view>

namespace belay::gpu {

struct SyntheticOptions {
    double seconds = 60;
    double interval = 1;  // seconds between rows
    int gpus = 1;
    unsigned seed = 1;  // of what is uneven
};

struct SyntheticKind {
    std::string_view name;  // "gemm"
    std::string_view doc;
};
std::span<const SyntheticKind> synthetic_kinds();

// Errors: kBadInput for a kind that is none.
core::Result<Trace> synthetic_trace(std::string_view kind, const SyntheticOptions& options);

}  // namespace belay::gpu
