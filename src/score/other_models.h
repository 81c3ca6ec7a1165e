// Scores that others compute from the same samples, for comparison. None of them is Belay's score, and none
// is shown without its name.
#pragma once

#include "score/digest.h"

#include <optional>
#include <span>
#include <string_view>

namespace belay::score {

// Means over a job, 0 to 1; NaN where nothing was sampled.
struct Means {
    double engine;
    double sm;
    double occupancy;
    double pipes;  // sum of the tensor, FP64, FP32 and FP16 pipes
    double tensor;
    double dram;
    double utilization;
    double flop_use;
};
Means means_of(const Digest& digest);

struct OtherModel {
    std::string_view name;                // "kempner"
    std::string_view doc;                 // what it is, and where it is from
    double (*score)(const Means& means);  // 0 to 100; NaN if it needs what was not sampled
};
std::span<const OtherModel> other_models();
const OtherModel* find_model(std::string_view name);  // nullptr if there is none

}  // namespace belay::score
