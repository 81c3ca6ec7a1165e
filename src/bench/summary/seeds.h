// Whether the runs of a closed submission were independent: each logs a seed, and no two the same one in the
// same place of the code (seed_checker.py in mlcommons/logging 4.1.59).
#pragma once

#include "bench/compliance/check.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace belay::bench {

struct SeedsOfRun {
    std::string file;                                      // the log
    std::map<std::string, LoggedSeed, std::less<>> seeds;  // by "FILE:LINE" of the code
};

struct SeedVerdict {
    std::vector<std::string> errors, warnings;
};

// Errors: a run without a seed, a seed that is not a whole number, a seed that another run has logged at the
// same place. Warnings: a run with more than one seed.
SeedVerdict check_seeds(std::span<const SeedsOfRun> runs);

}  // namespace belay::bench
