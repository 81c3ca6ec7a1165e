// The recorder: samples its node, reads the task's output that the supervisor passes on, and writes both as
// segments. It is a process of its own: killed, out of memory or without disk, it takes nothing with it but
// its samples.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "gpu/choose.h"
#include "observe/placement.h"
#include "observe/recorder_link.h"

#include <filesystem>
#include <string>
#include <vector>

namespace belay::observe {

struct RecorderOptions {
    std::filesystem::path record;
    core::Duration interval = std::chrono::seconds(1);
    core::Duration flush = std::chrono::seconds(2);
    std::vector<std::string> progress_patterns;  // regular expressions with named groups (progress/pattern.h)
    std::string command_name;                    // of the task, for its events
    pid_t supervisor = 0;
    std::filesystem::path io_trace = {};  // of the step on this node; empty: it is not traced
    std::vector<std::string> tiers = {};  // record.tiers
    core::Time allocation_start;  // t0 of the allocation rows; stays when the recorder is started again
    // Where GPUs are read from; a library of NVML that is not named here is what BELAY_NVML_LIBRARY names.
    gpu::SourceChoice gpus = {};
};

// Records until the supervisor is gone. Errors: kSystem (a full disk); what was written before is whole.
core::Result<> run_recorder(const RecorderOptions& options, const Placement& placement, LinkReceiver link);

}  // namespace belay::observe
