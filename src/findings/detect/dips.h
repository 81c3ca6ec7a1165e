// Dips of a level that should be high: how stalls of a training loop look from outside.
#pragma once

#include "findings/detect/detector.h"

#include <cstddef>
#include <span>
#include <vector>

namespace belay::findings {

// What each gives beside start, end, node, device and task.
inline constexpr std::string_view kStallColumns[] = {
    "dip_share", "dip_seconds", "overlap_share", "io_pressure_share", "read_bytes_per_second", "busy_share"};
inline constexpr std::string_view kPauseColumns[] = {"pauses", "period_seconds", "pause_seconds",
                                                     "cost_share", "written_bytes"};

struct Dip {
    size_t first = 0;  // samples first..last
    size_t last = 0;
    double start = 0;  // seconds since 1970
    double end = 0;
};

// Runs of at least `least_seconds` below `low`. A sample stands for the time until the next one, or of the
// usual step where that is more than twice it; a missing value ends a dip.
std::vector<Dip> find_dips(std::span<const double> times, std::span<const double> values, double low,
                           double least_seconds);

// Rows: time, value, and as far as known io_pressure (0 to 1), reads and writes (B/s), busy (share of the
// CPUs).
record::QueryResult detect_data_stall(const record::QueryResult& rows, const Parameters& parameters);
record::QueryResult detect_loader_stall(const record::QueryResult& rows, const Parameters& parameters);
record::QueryResult detect_pauses(const record::QueryResult& rows, const Parameters& parameters);

}  // namespace belay::findings
