// Batch norm by groups of samples, with the ReLU behind it. Plain memory in, plain memory out.
//
// Each group of `group` consecutive samples is normalised by mean and variance of its own, as if it were the batch of a
// rank: what comes out is the same however many groups a rank has. (The last group is smaller where samples are left.)
// Source: Ioffe and Szegedy, "Batch Normalization", 2015, algorithm 1; by groups: Hoffer, Hubara and Soudry, "Train
// longer, generalize better", 2017, algorithm 1 ("ghost batch normalization").
#pragma once

#include <cstddef>

namespace belay::bench::deepcam {

// Images [samples][channels][cells].
struct NormShape {
    size_t samples = 0, channels = 0, cells = 0;
    size_t group = 1;
    size_t groups() const { return (samples + group - 1) / group; }
};

// Channels first to last - 1: out = factor (in - mean) / sqrt(variance + epsilon) + offset, or 0 if that is less and
// `is_rectified`. means and variances: [groups][channels], the variances with M in the denominator.
void normalize_forward(const float* in, const NormShape& shape, size_t first, size_t last,
                       const float* factors, const float* offsets, double epsilon, bool is_rectified,
                       float* out, float* means, float* variances);

// The gradients of the same channels; `out` is what normalize_forward made.
void normalize_backward(const float* in, const float* out, const float* out_gradient, const NormShape& shape,
                        size_t first, size_t last, const float* factors, double epsilon, bool is_rectified,
                        const float* means, const float* variances, float* in_gradient,
                        float* factor_gradients, float* offset_gradients);

}  // namespace belay::bench::deepcam
