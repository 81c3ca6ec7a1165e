// How a step's I/O is traced on a node: by a library that its programs load, into a trace that its
// supervisors hold (iotrace/README.md).
#pragma once

#include "core/config.h"
#include "core/error.h"
#include "core/process.h"
#include "iotrace/shared_trace.h"
#include "observe/placement.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace belay::observe {

// As it is configured.
struct IoTracing {
    std::filesystem::path library;   // as the tasks find it
    std::vector<std::string> tiers;  // record.tiers
    bool operator==(const IoTracing&) const = default;
};

// That belongs to this program. Errors: kSystem without one, as on processors that it is not made for.
core::Result<std::filesystem::path> io_trace_library();

// What a configuration with kSettings asks for; nothing, which is said, where that is not possible. Errors:
// kBadInput for tiers that are none.
core::Result<std::optional<IoTracing>> io_tracing_of(const core::Configuration& configuration);

// Of the step on this node, whichever task asks.
std::filesystem::path io_trace_path(const Placement& placement);

// Held for a task that is about to start; nothing, which is said, where that is not possible: the job goes on
// untraced.
std::optional<iotrace::SharedTrace> hold_io_trace(const Placement& placement);

// The variables of a task that is traced; none, which is said, where that is not possible.
// `preloaded_before`: LD_PRELOAD.
core::Environment io_traced_variables(const std::filesystem::path& library, const Placement& placement,
                                      const std::optional<std::string>& preloaded_before);

}  // namespace belay::observe
