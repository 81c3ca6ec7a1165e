#include "bench/models/deepcam/profile.h"

#include "bench/schedule/find_size.h"

#include <cmath>
#include <vector>

namespace belay::bench::deepcam {

namespace {

constexpr Unit kMiniEncoder[] = {
    {.kind = UnitKind::kConvolution, .out = 16},
    {.kind = UnitKind::kSeparable, .out = 32, .stride = 2},
    {.kind = UnitKind::kSeparable, .out = 64, .stride = 2},
    {.kind = UnitKind::kSeparable, .out = 64},
};
constexpr int kMiniDilations[] = {1, 3, 6};

// mlcommons/hpc, deepcam: Xception at output stride 16. What the reference writes as a block without a final ReLU,
// followed by one in place, is a rectified block here.
constexpr Unit kEntryBlock = {.kind = UnitKind::kBlock, .stride = 2, .separables = 2};
constexpr Unit entry_block(int out) {
    Unit unit = kEntryBlock;
    unit.out = out;
    return unit;
}
constexpr Unit kMiddleBlock = {.kind = UnitKind::kBlock, .out = 728, .separables = 3};
constexpr Unit exit_separable(int out) {
    return {.kind = UnitKind::kSeparable, .out = out, .dilation = 2};
}
constexpr Unit kFullEncoder[] = {
    {.kind = UnitKind::kConvolution, .out = 32, .stride = 2},
    {.kind = UnitKind::kConvolution, .out = 64},
    entry_block(128),
    entry_block(256),
    entry_block(728),
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    kMiddleBlock,
    {.kind = UnitKind::kBlock,
     .out = 1024,
     .separables = 2,
     .grows_first = false,
     .has_extra = true,
     .is_rectified = false},
    exit_separable(1536),
    exit_separable(1536),
    exit_separable(2048),
};
constexpr int kFullDilations[] = {1, 6, 12, 18};
constexpr int kFullDecaySteps[] = {800};
constexpr double kFullDecayFactors[] = {0.1};

// The rules want an epsilon of 1e-6 (closed_deepcam.yaml).
constexpr double kEpsilon = 1e-6;

const Size kSizes[] = {
    {.run = {.name = "mini",
             .train_samples = 512,
             .eval_samples = 128,
             .batch = 8,
             .target = 0.82,
             .maximum_epochs = 20,
             .threads = 1,
             // With half of it, runs ended short of the target.
             .rate = {.base_rate = 0.004, .course = Course::kCosine},
             .optimizer = {.method = Method::kAdamW, .epsilon = kEpsilon, .weight_decay = 0.01},
             .log_style = LogStyle::kScheduler},
     .image = {.channels = 4, .height = 64, .width = 96},
     .architecture = {.encoder = kMiniEncoder,
                      .low_level_unit = 1,
                      .low_level_channels = 16,
                      .dilations = kMiniDilations,
                      .pyramid_channels = 32,
                      .decoder_channels = 16,
                      .deconvolutions_before = 1,
                      .deconvolutions_after = 1},
     .class_frequencies = {0.926, 0.034, 0.040},
     .norm_samples = 2},
    // compliance/1.0.0/rcps_deepcam.json, the entry for a batch of 2048.
    {.run = {.name = "full",
             .train_samples = 121266,
             .eval_samples = 15158,
             .batch = 2048,
             .target = 0.82,
             .maximum_epochs = 200,
             .threads = 0,
             .rate = {.base_rate = 0.0055,
                      .reference_batch = 2048,
                      .decay_factors = kFullDecayFactors,
                      .warmup_steps = 400,
                      .decay_steps = kFullDecaySteps,
                      .decays_behind_warmup = true,
                      .scaling = Scaling::kSquareRoot},
             .optimizer = {.method = Method::kLamb,
                           .epsilon = kEpsilon,
                           .weight_decay = 0.01,
                           .maximum_gradient_norm = 1},
             .log_style = LogStyle::kScheduler},
     .image = {.channels = 16, .height = 768, .width = 1152},
     .architecture = {.encoder = kFullEncoder,
                      .low_level_unit = 2,
                      .low_level_channels = 48,
                      .dilations = kFullDilations,
                      .pyramid_channels = 256,
                      .decoder_channels = 256,
                      .deconvolutions_before = 2,
                      .deconvolutions_after = 2},
     .class_frequencies = {0.986267818390377, 0.0004578708870701058, 0.01327431072255291},
     .norm_samples = 2},
};

}  // namespace

std::span<const Size> sizes() {
    return kSizes;
}

core::Result<Size> size_named(std::string_view name) {
    return find_size(sizes(), name);
}

std::array<double, kClasses> class_weights(const Size& size) {
    std::array<double, kClasses> weights{};
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::pow(size.class_frequencies[i], -0.125);
    return weights;
}

int64_t parameter_count(const Size& size) {
    int64_t count = 0;
    const Survey found = survey(size.architecture, size.image);
    for (const Parameter& parameter : found.parameters) count += parameter.count();
    return count;
}

double flops_per_sample(const Size& size) {
    const Survey found = survey(size.architecture, size.image);
    return 3 * found.forward_flops - found.first_layer_flops;
}

}  // namespace belay::bench::deepcam
