// What a training run of CosmoFlow is: sizes, schedule and target, as data. The full profile is the MLPerf
// HPC reference; the mini profile keeps its layers, loss, metric and schedule code at a size that one CPU
// trains in minutes.
#pragma once

#include "bench/schedule/profile.h"
#include "core/error.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace belay::bench::cosmoflow {

// What is CosmoFlow's own in a profile.
struct Size {
    bench::Profile run;
    int side = 0;                   // cells per edge of a sample
    std::span<const int> channels;  // of the input and after each stage
    double dropout = 0;             // after each hidden dense layer
};

inline constexpr double kLeakySlope = 0.3;
inline constexpr double kOutputScale = 1.2;  // of the final tanh
inline constexpr int kHiddenWidths[] = {128, 64};

std::span<const Size> sizes();

// Errors: kBadInput, with the nearest name.
core::Result<Size> size_named(std::string_view name);

// Weights and biases of the network: convolutions of 3x3x3, then dense layers.
int64_t parameter_count(const Size& size);

// Whether the volume can be cut into so many slabs that every pooling halves without a rest.
bool can_split(const Size& size, int ways);

// Floating-point operations of training on one sample: multiplications and additions of convolutions and
// dense layers, forward once and backward twice (gradients of inputs and of weights); the first layer's
// inputs need none.
double flops_per_sample(const Size& size);

}  // namespace belay::bench::cosmoflow
