// What the score of a job on CPUs means, in words.
#pragma once

#include "score/cpu_score.h"

#include <string>
#include <vector>

namespace belay::score {

// What is known of the job's use of its CPUs; shares of their observed time, 0 to 1.
struct CpuVerdict {
    double busy = 0;
    double ran = 0;       // the time in which any CPU ran, at most
    double others = 0;    // of the nodes' CPU time, used by others; NaN if that is not known
    double node_use = 0;  // of the nodes' CPU time, used by anybody; NaN likewise
    double given = 1;     // of the nodes' CPU time, given to the job
    bool reports_flop = false, reports_bytes = false;
    double flop = 0, bytes = 0;  // of the ceilings; 0 where nothing was reported or measured
    // The higher of `flop` over `busy` and `bytes` over `ran`: above 1 the work does not fit under the
    // ceiling; infinite where no process was seen to run.
    double excess = 0;
    bool ceilings_known = false;  // of all that is reported, on all nodes
    bool counts = false;          // there is a point
    double low = 0, point = 0, high = 1;
};

// Three lines: how busy the CPUs were, how near they came to a limit, and what that says.
std::vector<std::string> meaning_of(const Score& score, const CpuVerdict& verdict);
// What a reader has to know of the numbers.
std::vector<std::string> notes_of(const CpuUse& use, const CpuVerdict& verdict);

}  // namespace belay::score
