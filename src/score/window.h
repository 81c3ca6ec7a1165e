// One window of one GPU: which share of its time a limit of the hardware was reached. The model of Belay's
// saturation score; its formulas are explained in docs/score.md.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace belay::score {

// A figure that was not sampled.
inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// The limits a kernel can meet. Issue slots compete and pipes overlap, so a window has the highest of them,
// not their sum.
enum class Limit : uint8_t { kTensor, kFp64, kFp32, kFp16, kDram };
inline constexpr size_t kLimits = 5;
inline constexpr std::array<std::string_view, kLimits> kLimitNames = {"tensor", "fp64", "fp32", "fp16",
                                                                      "dram"};

// Means over the window, 0 to 1; NaN where it was not sampled.
struct Activity {
    Activity();                          // nothing sampled
    std::array<double, kLimits> active;  // by Limit
    double integer;                      // integer pipe, which the counter of fp32 may include
    double tensor_fp64;                  // tensor pipe in FP64; sampled by the counters of Hopper and newer
    double engine;                       // graphics or compute engine
    double sm;                           // a warp on some multiprocessor
    double clock_hertz;
};

// What real kernels reach on a model of GPU; see ceilings.h.
struct Ceilings {
    std::array<double, kLimits> active = {1, 1, 1, 1, 1};
    double clock_hertz = 0;      // at which they were measured; 0 if that is not known
    double clock_max_hertz = 0;  // the device's highest; 0: that of the ceilings
    double highest_clock() const { return clock_max_hertz > 0 ? clock_max_hertz : clock_hertz; }
};

// Of a time, what became of it; the four make up 1.
struct Shares {
    double idle = 0;         // no engine active
    double gap = 0;          // an engine active, no warp on a multiprocessor
    double unsaturated = 0;  // warps, but below every limit
    double saturated = 0;    // the share of the highest limit that was used
};

struct WindowScore {
    Shares shares;
    double highest = 0;                  // that `saturated` may have been: higher if not all is known
    Limit limit = Limit::kTensor;        // the highest
    std::array<double, kLimits> used{};  // of each limit, 0 to 1; NaN if it was not sampled
    bool clock_unknown = false;          // taken as that of the ceilings
    bool integer_unknown = false;        // fp32 may be integer work
    bool copy_driven = false;            // more DRAM traffic than the multiprocessors account for
};

enum class Averaging : uint8_t {
    kFine,    // the window is no longer than the model's
    kCoarse,  // it is, and what happened in it may have been uneven
};

// DRAM is the limit, and was used more than the multiprocessors were active: copy engines moved the data.
inline bool is_copy_driven(double used_dram, double saturated, double sm) {
    return used_dram == saturated && saturated > sm;
}

// Nothing if no limit was sampled. Disorder of the counters (a multiprocessor busier than its engine) and
// values outside 0 to 1 are tolerated: they come from counters that are read one after the other.
std::optional<WindowScore> score_window(const Activity& activity, const Ceilings& ceilings,
                                        Averaging averaging = Averaging::kFine);

}  // namespace belay::score
