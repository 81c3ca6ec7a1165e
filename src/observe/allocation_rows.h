// Rows of the table `allocation`: written when a step is found, without an end, and once more when it has
// ended.
#pragma once

#include "core/time.h"
#include "stream/batch.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::observe {

// A step's share of a node.
struct StepShare {
    std::optional<int64_t> job_id;
    std::optional<std::string> step_id;
    std::optional<int64_t> restart;
    std::optional<int64_t> first_task;
    std::optional<int64_t> tasks;
    std::optional<int64_t> cpus;
    core::Time from;
};

// Of the node, or of a device of it.
void add_allocation(stream::Batch& rows, core::Time now, std::string_view node, const StepShare& share,
                    const std::optional<std::string>& device, std::optional<core::Time> until);

}  // namespace belay::observe
