#include "score/other_models.h"

#include <algorithm>
#include <cmath>

namespace belay::score {

namespace {

double logistic(double x) {
    return 1 / (1 + std::exp(-x));
}

// The saturation model of the first GPU Saturation Scorer (commit cf13c7a): the constants are its fit.
double early(const Means& means) {
    constexpr double kAlpha = 24.0217;
    constexpr double kBeta = 3.0935;
    constexpr double kGamma = 2.0510;
    constexpr double kLambda = 11.4463;
    const double work = kBeta * means.pipes + kGamma * means.occupancy * std::exp(-kLambda * means.pipes);
    return 100 * 4 * (logistic(kAlpha * means.sm) - 0.5) * (logistic(work) - 0.5);
}

double kempner(const Means& means) {
    return 100 * (0.35 * means.sm + 0.35 * means.tensor + 0.20 * means.dram + 0.10 * means.engine);
}

double flop_use(const Means& means) {
    return 100 * means.flop_use;
}

double utilization(const Means& means) {
    return 100 * means.utilization;
}

constexpr OtherModel kModels[] = {
    {"eos",
     "the early model of the GPU Saturation Scorer, which current versions no longer have; not monotone",
     early},
    {"kempner", "KempnerPulse's weighted sum; no real kernel reaches 100", kempner},
    {"ofu", "tensor pipe times clock over the highest clock (arXiv 2605.20799); ignores all other work",
     flop_use},
    {"utilization", "time in which any kernel was there, as nvidia-smi shows it", utilization},
};

}  // namespace

Means means_of(const Digest& digest) {
    auto mean = [&](auto value) {
        double sum = 0;
        double seconds = 0;
        for (const GpuDigest& gpu : digest.gpus) {
            const double one = value(gpu);
            if (std::isnan(one) || !(gpu.totals.observed > 0)) continue;
            sum += one * gpu.totals.observed;
            seconds += gpu.totals.observed;
        }
        return seconds > 0 ? sum / seconds : kMissing;
    };
    auto quantity = [&](size_t wanted) {
        return mean([wanted](const GpuDigest& gpu) { return gpu.whole[wanted]; });
    };
    return {.engine = quantity(schema::gpu_quantity("engine_share")),
            .sm = quantity(schema::gpu_quantity("sm_share")),
            .occupancy = quantity(schema::gpu_quantity("occupancy_share")),
            .pipes = mean([](const GpuDigest& gpu) { return gpu.pipes_mean; }),
            .tensor = quantity(schema::gpu_quantity("tensor_share")),
            .dram = quantity(schema::gpu_quantity("dram_share")),
            .utilization = quantity(schema::gpu_quantity("utilization_share")),
            .flop_use = mean([](const GpuDigest& gpu) { return gpu.flop_use; })};
}

std::span<const OtherModel> other_models() {
    return kModels;
}

const OtherModel* find_model(std::string_view name) {
    const auto* found = std::ranges::find(kModels, name, &OtherModel::name);
    return found == std::end(kModels) ? nullptr : found;
}

}  // namespace belay::score
