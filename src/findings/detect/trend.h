// What changes slowly: memory that is never given back, speed that is lost.
#pragma once

#include "findings/detect/detector.h"

#include <span>

namespace belay::findings {

// What each gives beside start, end, node, device and task.
inline constexpr std::string_view kLeakColumns[] = {"bytes_per_second", "growth_bytes", "last_bytes",
                                                    "rising_share",     "limit_bytes",  "left_seconds"};
inline constexpr std::string_view kChangeColumns[] = {"before",      "after",      "change_share",
                                                      "busy_before", "busy_after", "severity"};

struct Growth {
    double slope = 0;   // per second, Theil and Sen
    double rising = 0;  // share of neighbouring bins that rise
    double first = 0;   // median of the first bin, and of the last
    double last = 0;
    double late_slope = 0;  // of the last third
};
// Over at least 10 bins, and of 5 minutes where the series is long enough.
Growth growth_of(std::span<const double> times, std::span<const double> values);

// Rows: time, value (B), limit (B; null where there is none) and used (B of the limit, by anybody; without it
// only what grows uses it).
record::QueryResult detect_leak(const record::QueryResult& rows, const Parameters& parameters);
// Rows: time, value and activity (without it the change is never only noted).
record::QueryResult detect_change(const record::QueryResult& rows, const Parameters& parameters);

}  // namespace belay::findings
