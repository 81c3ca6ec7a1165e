// Two records side by side: what changed, and whether it is more than noise.
#pragma once

#include "score/job_score.h"

#include <string>
#include <vector>

namespace belay::score {

struct Change {
    std::string name;   // "score", "idle_share" ...
    double before = 0;  // NaN where it is not known
    double after = 0;
    double low = 0;  // of after − before, 95 % interval; NaN where there is none
    double high = 0;
    bool significant = false;  // the interval holds no 0
};

// What the whole job has once (score, shares, energy) has no interval. What is followed second by second is
// compared over the steady state by means of up to 20 blocks of at least 10 s, since neighbouring seconds are
// no independent samples: Welch's interval with Student's quantile.
std::vector<Change> compare(const Digest& before, const Digest& after);

}  // namespace belay::score
