// What a training run of DeepCAM is: sizes, classes, schedule and target, as data. The full profile is the MLPerf
// HPC reference; the mini profile has the same layers, loss, metric and schedule code at a size that one CPU
// trains in minutes.
#pragma once

#include "bench/models/deepcam/architecture.h"
#include "bench/schedule/profile.h"
#include "core/error.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace belay::bench::deepcam {

// What is DeepCAM's own in a profile.
struct Size {
    bench::Profile run;
    Shape image;
    Architecture architecture;
    std::array<double, kClasses> class_frequencies{};  // shares of cells: background, cyclone, river
    // Samples whose statistics a batch norm takes together, consecutive ones of the global batch. They are the same
    // samples for any number of ranks each of which has a multiple of these.
    int norm_samples = 0;
};

inline constexpr double kNormEpsilon = 1e-5;  // PyTorch's default, as the reference
inline constexpr double kNormMomentum = 0.1;  // share of the newest batch in the running statistics; likewise

std::span<const Size> sizes();

// Errors: kBadInput, with the nearest name.
core::Result<Size> size_named(std::string_view name);

// Of the loss: frequency^-0.125, as the reference takes them.
std::array<double, kClasses> class_weights(const Size& size);

// Weights, biases, and factors and offsets of norms.
int64_t parameter_count(const Size& size);

// Floating-point operations of training on one sample: multiplications and additions of convolutions, forward
// once and backward twice (gradients of inputs and of weights); the first layer's inputs need none.
double flops_per_sample(const Size& size);

}  // namespace belay::bench::deepcam
