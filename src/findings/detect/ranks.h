// What comes to light between ranks or devices: one that differs from its peers, one that all wait for, and
// all that wait for ever.
#pragma once

#include "findings/detect/detector.h"

namespace belay::findings {

// What each gives beside start, end, node, device and task.
inline constexpr std::string_view kOutlierColumns[] = {"value", "peers_value", "difference_share",
                                                       "deviations", "peers"};
inline constexpr std::string_view kStragglerColumns[] = {"last_share", "lag_seconds", "lag_share", "steps",
                                                         "ranks"};

inline constexpr std::string_view kHangColumns[] = {"quiet_seconds", "limit_seconds",   "step_seconds",
                                                    "last_step",     "activity_before", "activity_after",
                                                    "ranks"};

// Rows: value, one row per node, device or task; where there is class, peers are those of the same.
record::QueryResult detect_outlier(const record::QueryResult& rows, const Parameters& parameters);

// Rows: time, task, step: when each rank reached each step. In a synchronous collective the victims spin and
// look busy, so nothing is said of who used its device least; who comes last is asked.
record::QueryResult detect_straggler(const record::QueryResult& rows, const Parameters& parameters);

// Rows: time, step, run_end (s since 1970) of steps; and, of nodes, time, activity and traffic where step is
// null.
record::QueryResult detect_hang(const record::QueryResult& rows, const Parameters& parameters);

}  // namespace belay::findings
