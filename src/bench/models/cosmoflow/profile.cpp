#include "bench/models/cosmoflow/profile.h"

#include "bench/models/cosmoflow/universe.h"
#include "bench/schedule/find_size.h"

#include <vector>

namespace belay::bench::cosmoflow {

namespace {

constexpr int kMiniChannels[] = {4, 8, 16, 32, 64};
constexpr int kMiniDecayEpochs[] = {12, 18};
constexpr double kMiniDecayFactors[] = {0.25, 0.0625};

// mlcommons/hpc, cosmoflow/configs/cosmo.yaml.
constexpr int kFullChannels[] = {4, 32, 64, 128, 256, 512};
constexpr int kFullDecayEpochs[] = {32, 64};
constexpr double kFullDecayFactors[] = {0.25, 0.125};

constexpr Size kSizes[] = {
    {.run = {.name = "mini",
             .train_samples = 1024,
             .eval_samples = 256,
             .batch = 8,
             .target = 0.13,
             .maximum_epochs = 30,
             .threads = 1,
             .rate = {.warmup_rate = 0.0025,
                      .base_rate = 0.01,
                      .reference_batch = 0,
                      .warmup_epochs = 3,
                      .decay_epochs = kMiniDecayEpochs,
                      .decay_factors = kMiniDecayFactors}},
     .side = 32,
     .channels = kMiniChannels,
     .dropout = 0},
    {.run = {.name = "full",
             .train_samples = 524288,
             .eval_samples = 65536,
             .batch = 64,
             .target = 0.124,
             .maximum_epochs = 100,
             .threads = 0,
             .rate = {.warmup_rate = 0.001,
                      .base_rate = 0.001,
                      .reference_batch = 64,
                      .warmup_epochs = 4,
                      .decay_epochs = kFullDecayEpochs,
                      .decay_factors = kFullDecayFactors}},
     .side = 128,
     .channels = kFullChannels,
     .dropout = 0.5},
};

}  // namespace

std::span<const Size> sizes() {
    return kSizes;
}

core::Result<Size> size_named(std::string_view name) {
    return find_size(sizes(), name);
}

int64_t parameter_count(const Size& size) {
    int64_t count = 0;
    int64_t side = size.side;
    for (size_t stage = 1; stage < size.channels.size(); ++stage) {
        count += int64_t{size.channels[stage - 1]} * size.channels[stage] * 27 + size.channels[stage];
        side /= 2;
    }
    int64_t width = size.channels.back() * side * side * side;
    for (int64_t next : {kHiddenWidths[0], kHiddenWidths[1], static_cast<int>(kParameters)}) {
        count += width * next + next;
        width = next;
    }
    return count;
}

bool can_split(const Size& size, int ways) {
    const int halvings = 1 << (size.channels.size() - 1);
    return ways > 0 && size.side % (ways * halvings) == 0;
}

double flops_per_sample(const Size& size) {
    double flops = 0;
    double side = size.side;
    for (size_t stage = 1; stage < size.channels.size(); ++stage) {
        const double forward =
            2.0 * 27 * size.channels[stage - 1] * size.channels[stage] * side * side * side;
        flops += forward * (stage == 1 ? 2 : 3);
        side /= 2;
    }
    double width = size.channels.back() * side * side * side;
    for (int next : {kHiddenWidths[0], kHiddenWidths[1], static_cast<int>(kParameters)}) {
        flops += 3 * 2 * width * next;
        width = next;
    }
    return flops;
}

}  // namespace belay::bench::cosmoflow
