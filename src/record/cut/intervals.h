// Spans of time, each with its start and without its end.
#pragma once

#include "core/time.h"

#include <vector>

namespace belay::record {

struct Interval {
    core::Time from;
    core::Time to;
    bool holds(core::Time time) const { return time >= from && time < to; }
    bool operator==(const Interval&) const = default;
};

// In order, without overlap.
using Intervals = std::vector<Interval>;

// The same time as any intervals.
Intervals united(std::vector<Interval> intervals);
bool is_in(const Intervals& intervals, core::Time time);

}  // namespace belay::record
