// What may be wrong with a job, as data: one row for each cause, with the sentence that defines it.
#pragma once

#include "draw.h"
#include "job.h"
#include "random.h"

#include <functional>
#include <span>
#include <string>

namespace belay::second_generator {

// How strong a fault is to be. What it is in the end is measured.
enum class Band : uint8_t { kNegligible, kWeak, kClear };
const char* name_of(Band band);

// One that was drawn for a job.
struct Drawn {
    std::function<void(Job&)> effect;
    double onset = 0;
    std::string where = "all";  // "node 2", "rank 3", "node 1 GPU 0"
    // Nothing: the share of the time that it costs is measured, against the same job without it.
    std::string unit = {};
    double strength = 0;
    Band band = Band::kClear;
    std::string truth;    // a sentence
    std::string follows;  // what would be right to mention, too
};

struct Cause {
    const char* name;
    const char* sentence;
    Needs needs;
    Drawn (*draw)(const Job&, Random&, Band);
};

// By the part of the job that they concern.
std::span<const Cause> data_causes();
std::span<const Cause> pace_causes();
std::span<const Cause> end_causes();
std::span<const Cause> host_causes();
std::span<const Cause> gpu_causes();
std::span<const Cause> fabric_causes();
std::span<const Cause> model_causes();
std::vector<const Cause*> all_causes();

// The share of the time that a fault of this band is to cost.
double cost(Random& random, Band band);
// By which a step must get longer for that.
double stretch(double cost);
// When it begins: at the start of the job in half of the cases.
double onset(const Job& job, Random& random);
// From when on, surely within the training.
double midway(const Job& job, Random& random);
std::string rank_text(const Job& job, int rank);
std::string gpu_text(int node, int gpu);
double by_band(Band band, double negligible, double weak, double clear);

}  // namespace belay::second_generator
