// The inner loops that the framework does poorly on a CPU. Plain memory in, plain memory out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace belay::bench::cosmoflow {

// log(count + 1), the reference's preprocessing; 0 for a negative count, which no universe has.
void log_counts(std::span<const int16_t> counts, float* out);

// Maximum over 2x2x2 blocks, then leaky ReLU, which as a rising function gives the same as before the maximum
// at an eighth of the work. libtorch's own max_pool3d takes a quarter of the training time of the mini
// profile.
//
// `in` is `pairs` pairs of planes of side^2, side even: side/2 pairs for a cube, fewer for a part of one. `out` and
// `chosen` have (side/2)^2 values for each pair. `chosen` says which of the eight was the largest (bits 0 to 2: x, y, z) and whether it was negative (bit 3).
void pool_forward(const float* in, size_t pairs, size_t side, float slope, float* out, uint8_t* chosen);

// The gradient: all of `in_gradient` is written.
void pool_backward(const float* out_gradient, const uint8_t* chosen, size_t pairs, size_t side, float slope,
                   float* in_gradient);

}  // namespace belay::bench::cosmoflow
