// Which source GPUs are read from.
#pragma once

#include "gpu/source.h"

#include <string>

namespace belay::gpu {

struct SourceChoice {
    // "auto": NVML where it has the counters of pipes and DRAM, or slices; else DCGM where a host engine
    // answers; else NVML. "nvml", "dcgm".
    std::string source = "auto";
    std::string nvml_library = {};           // empty: the driver's
    std::string dcgm_library = {};           // empty: the system's
    std::string dcgm_address = "127.0.0.1";  // of the host engine; a path is a Unix socket
    core::Duration interval = std::chrono::seconds(1);

    // Somebody asked for a source, or named a library: that it is not there is worth telling.
    bool is_wanted() const { return source != "auto" || !nvml_library.empty() || !dcgm_library.empty(); }
};

// Errors: kBadInput for an unknown source.
core::Result<> check_choice(const SourceChoice& choice);

// Errors: kSystem, with its cause; where both are possible the cause of NVML, and what both say.
core::Result<std::unique_ptr<Source>> open_source(const SourceChoice& choice);

}  // namespace belay::gpu
