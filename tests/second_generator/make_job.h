// A job with what is wrong with it, how it ran, and the truth about it.
#pragma once

#include "faults.h"
#include "timeline.h"

#include <string>
#include <vector>

namespace belay::second_generator {

struct Fault {
    const Cause* cause = nullptr;
    Drawn drawn;
    double strength = 0;
    std::string unit;
    Band band = Band::kClear;
};

struct Made {
    Job job;
    Timeline timeline;
    std::vector<Fault> faults;
};

// The same for the same number, count and seed. `wanted`: the name of a cause that it must have, "sound", or
// "" for one by turns.
Made make_job(int number, uint64_t seed, std::string_view wanted);

std::string truth_header();
std::string truth_row(const Made& made);
// The vocabulary, as lines "cause<TAB>sentence".
std::string vocabulary();

}  // namespace belay::second_generator
