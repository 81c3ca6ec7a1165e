// How well the rules find the faults of made-up jobs.
#pragma once

#include "findings/engine.h"
#include "findings/testing/job.h"

#include <map>
#include <string>
#include <vector>

namespace belay::findings {

struct RuleCount {
    int right = 0;  // fired for a fault that it is about, or a consequence of it
    int wrong = 0;
};
struct FaultCount {
    int jobs = 0;
    int found = 0;  // by a rule that names it
    int first = 0;  // and that one came first
};
struct Precision {
    std::map<std::string, RuleCount> rules;
    std::map<std::string, FaultCount> faults;
    std::vector<std::string> mistakes;  // a line each: what fired wrongly, what was missed
    int right() const;
    int wrong() const;
    double precision() const;
    double recall() const;
};

// Draws `jobs` jobs, a third of them without a fault, and asks the rules about each. Errors: kSystem.
core::Result<Precision> measure_precision(const RuleSet& rules, int jobs, uint32_t seed);

}  // namespace belay::findings
