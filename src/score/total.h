// The score of a job, a node or a GPU: windows added up against the time that was allocated.
#pragma once

#include "score/window.h"

#include <span>

namespace belay::score {

// Sums over windows and devices, in weighted seconds: a whole GPU weighs 1, a slice of one under MIG its
// fraction. Sums of parts are the sum of the whole, in any order.
struct Totals {
    double allocated = 0;  // wall time for which the devices were held, idle or not
    double observed = 0;   // time of windows
    double slack = 0;      // by which `shares.saturated` may be too low, where not all is known
    Shares shares;

    // A device that was held for `seconds`.
    void allocate(double weight, double seconds) { allocated += weight * seconds; }
    void add(double weight, double seconds, const WindowScore& window);
    void merge(const Totals& other);
};

struct Score {
    double point = 0;     // 0 to 100, mean of what was observed; NaN if nothing was
    double low = 0;       // if all that is missing were idle
    double high = 100;    // if it were saturated
    double coverage = 0;  // 0 to 1, observed of what was allocated
    Shares shares;        // of the observed time
    bool graded() const { return coverage >= kLeastCoverage; }

    static constexpr double kLeastCoverage = 0.8;  // below, bounds are too wide for a verdict
};

// low ≤ point ≤ high. Time observed beyond what was allocated (edges of windows) extends it.
Score score_of(const Totals& totals);

}  // namespace belay::score
