// Windows and random numbers for the tests of the model.
#pragma once

#include "score/gpu_digester.h"
#include "score/total.h"

#include <limits>
#include <random>

namespace belay::score::testing {

// The constants of the worked examples.
inline Ceilings example_ceilings() {
    Ceilings ceilings;
    ceilings.active = {0.90, 1, 0.95, 1, 0.80};
    ceilings.clock_hertz = 1755e6;
    return ceilings;
}

struct Given {
    double tensor = 0;
    double dram = 0;
    double fp32 = 0;
    double integer = 0;
    double sm = std::numeric_limits<double>::quiet_NaN();
    double engine = std::numeric_limits<double>::quiet_NaN();
    double clock_hertz = 1755e6;
};

inline Activity activity(const Given& given) {
    Activity activity;
    activity.active = {given.tensor, 0, given.fp32, 0, given.dram};
    activity.integer = given.integer;
    activity.sm = given.sm;
    activity.engine = given.engine;
    activity.clock_hertz = given.clock_hertz;
    return activity;
}

inline void set_activity(GpuSample& sample, const Activity& activity) {
    sample[schema::gpu_field("tensor_active_ratio")] = activity.active[static_cast<size_t>(Limit::kTensor)];
    sample[schema::gpu_field("fp64_active_ratio")] = activity.active[static_cast<size_t>(Limit::kFp64)];
    sample[schema::gpu_field("fp32_active_ratio")] = activity.active[static_cast<size_t>(Limit::kFp32)];
    sample[schema::gpu_field("fp16_active_ratio")] = activity.active[static_cast<size_t>(Limit::kFp16)];
    sample[schema::gpu_field("dram_active_ratio")] = activity.active[static_cast<size_t>(Limit::kDram)];
    sample[schema::gpu_field("integer_active_ratio")] = activity.integer;
    sample[schema::gpu_field("engine_active_ratio")] = activity.engine;
    sample[schema::gpu_field("sm_active_ratio")] = activity.sm;
    sample[schema::gpu_field("clock_sm_hertz")] = activity.clock_hertz;
}

// A window with this saturation.
inline WindowScore saturated(double saturation) {
    return *score_window(activity({.dram = 0.8 * saturation}), example_ceilings());
}

class Random {
  public:
    explicit Random(uint32_t seed) : engine_(seed) {}
    double ratio() { return std::uniform_real_distribution<double>(0, 1)(engine_); }
    double between(double low, double high) { return low + (high - low) * ratio(); }
    bool chance(double share) { return ratio() < share; }
    Activity activity() {
        Activity activity;
        for (double& active : activity.active) active = ratio();
        activity.integer = ratio();
        activity.sm = ratio();
        activity.engine = ratio();
        activity.clock_hertz = between(300e6, 2e9);
        return activity;
    }
    std::mt19937& engine() { return engine_; }

  private:
    std::mt19937 engine_;
};

}  // namespace belay::score::testing
