// LABEL_proc_N.json of gssr 0.3, the Python generation: what one rank recorded of its GPUs.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "record/import/gssr_row.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::record {

// What is read of one file, which is held as a whole: six days of one GPU, or a day of six, at two samples a
// second.
inline constexpr size_t kLargestGssrJson = size_t{128} << 20;
inline constexpr size_t kMostGssrSamples = size_t{1} << 20;  // of all its GPUs

struct GssrJson {
    std::optional<int64_t> job_id;
    std::optional<int64_t> step_id;
    std::string label;
    std::string host;
    std::optional<int64_t> rank;
    std::optional<core::Time> start;
    std::optional<core::Time> end;
    double period_seconds = 0.5;  // that was asked for
    std::string command;
    // Samples of each GPU, from the first; the timestamp of a row is not filled in.
    std::map<int64_t, std::vector<GssrRow>> gpus;

    size_t samples() const;  // of the GPU that has most
    // Between samples as they were taken: a recorder that sleeps the period between two is slower than it.
    double spacing_seconds() const;
    // When the sampling began whose mean the sample is; it ends with time_of(sample + 1). Surplus samples
    // were cut off at the beginning, so the end is what is sure.
    core::Time time_of(size_t sample) const;
};

// What is missing or of another type in the metadata is left out. Errors: kBadInput if it is not JSON, has
// no "data", or more than kMostGssrSamples.
core::Result<GssrJson> parse_gssr_json(std::string_view text, const std::string& file);

}  // namespace belay::record
