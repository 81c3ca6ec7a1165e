// For tests: everything that the real profiles have, units of all kinds included, in milliseconds.
#pragma once

#include "bench/models/deepcam/profile.h"

namespace belay::bench::deepcam {

inline Size tiny_size() {
    static constexpr Unit kEncoder[] = {
        {.kind = UnitKind::kConvolution, .out = 4, .stride = 2},
        {.kind = UnitKind::kBlock, .out = 6, .stride = 2, .separables = 2},
        {.kind = UnitKind::kBlock, .out = 6, .separables = 1},
        {.kind = UnitKind::kBlock,
         .out = 8,
         .separables = 2,
         .grows_first = false,
         .has_extra = true,
         .is_rectified = false},
        {.kind = UnitKind::kSeparable, .out = 8, .dilation = 2},
    };
    static constexpr int kDilations[] = {1, 2};
    Size size = *size_named("mini");
    size.image = {.channels = 4, .height = 16, .width = 24};
    size.architecture = {.encoder = kEncoder,
                         .low_level_unit = 0,
                         .low_level_channels = 3,
                         .dilations = kDilations,
                         .pyramid_channels = 5,
                         .decoder_channels = 6,
                         .deconvolutions_before = 1,
                         .deconvolutions_after = 1};
    size.run.train_samples = 50;
    size.run.eval_samples = 11;
    size.run.maximum_epochs = 2;
    return size;
}

}  // namespace belay::bench::deepcam
