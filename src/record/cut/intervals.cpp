#include "record/cut/intervals.h"

#include <algorithm>

namespace belay::record {

Intervals united(std::vector<Interval> intervals) {
    std::erase_if(intervals, [](const Interval& one) { return one.to <= one.from; });
    std::ranges::sort(intervals, {}, &Interval::from);
    Intervals apart;
    for (const Interval& one : intervals)
        if (apart.empty() || one.from > apart.back().to)
            apart.push_back(one);
        else
            apart.back().to = std::max(apart.back().to, one.to);
    return apart;
}

bool is_in(const Intervals& intervals, core::Time time) {
    auto after = std::ranges::upper_bound(intervals, time, {}, &Interval::from);
    return after != intervals.begin() && std::prev(after)->holds(time);
}

}  // namespace belay::record
