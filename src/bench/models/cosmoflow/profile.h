// What a training run of CosmoFlow is: sizes, schedule and target, as data. The full profile is the MLPerf
// HPC reference; the mini profile keeps its layers, loss, metric and schedule code at a size that one CPU
// trains in minutes.
#pragma once

#include "core/error.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace belay::bench::cosmoflow {

struct Profile {
    std::string_view name;
    int side;                       // cells per edge of a sample
    std::span<const int> channels;  // of the input and after each stage
    int train_samples;
    int eval_samples;
    int batch;       // global
    double dropout;  // after each hidden dense layer
    double target;   // mean absolute error on the held-out samples
    int maximum_epochs;
    // The schedule. The rate rises in equal steps from first_rate() in the first epoch to the peak in epoch
    // 1 + warmup_epochs; beyond decay_epochs[i] it is the peak times decay_factors[i].
    double warmup_rate;
    double base_rate;
    int reference_batch;  // the peak is base_rate * batch / reference_batch; 0: it does not scale
    int warmup_epochs;
    std::span<const int> decay_epochs;
    std::span<const double> decay_factors;

    double peak_rate(int global_batch) const {
        return reference_batch > 0 ? base_rate * global_batch / reference_batch : base_rate;
    }
    // Of the first epoch: a batch far below the reference's must not start above its peak.
    double first_rate(int global_batch) const { return std::min(warmup_rate, peak_rate(global_batch)); }
};

inline constexpr double kMomentum = 0.9;
inline constexpr double kLeakySlope = 0.3;
inline constexpr double kOutputScale = 1.2;  // of the final tanh
inline constexpr int kHiddenWidths[] = {128, 64};

std::span<const Profile> profiles();

// Errors: kBadInput, with the nearest name.
core::Result<Profile> profile_named(std::string_view name);

// The learning rate of an epoch, counted from 1.
double learning_rate(const Profile& profile, int global_batch, int epoch);

// Weights and biases of the network: convolutions of 3x3x3, then dense layers.
int64_t parameter_count(const Profile& profile);

// Floating-point operations of training on one sample: multiplications and additions of convolutions and
// dense layers, forward once and backward twice (gradients of inputs and of weights); the first layer's
// inputs need none.
double flops_per_sample(const Profile& profile);

// The training samples of one place in the global batch, in the order in which an epoch uses them. Place p
// always draws from the samples i with i % batch == p, shuffled anew each epoch: so whichever rank holds the
// place needs only these samples, and the batches are the same for any number of ranks. Samples that do not
// fill a batch are left out.
std::vector<uint32_t> samples_of_place(uint64_t seed, int epoch, int place, int batch, int train_samples);

}  // namespace belay::bench::cosmoflow
