// Measuring a machine for `belay bench roofline --measure`: in this process, by ranks on this machine, or by the tasks
// of the step that this process is one of.
#pragma once

#include "bench/roofline/machine_json.h"
#include "core/error.h"

#include <filesystem>
#include <optional>
#include <string>

namespace belay::cli {

struct RooflineMeasuring {
    int ranks = 1;                    // of the run that is looked at
    int nodes = 1;                    // on which it ran
    uint64_t all_reduce_bytes = 0;    // 0: the program's own size
    std::filesystem::path data = {};  // empty: reading is not measured
};

// Nothing for a task of a step other than its first, which has taken part and has nothing to say. Errors: as of
// belay-all-reduce.
core::Result<std::optional<bench::roofline::MeasuredMachine>> measure_for_roofline(
    const RooflineMeasuring& wanted);

}  // namespace belay::cli
