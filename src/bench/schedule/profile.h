// What a training run is beside its network: sizes, target and learning rate, as data. Every model has
// profiles of this shape, and what is only its own (channels, dropout, ...) beside them.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace belay::bench {

// The rate rises in equal steps from first() in the first epoch to the peak in epoch 1 + warmup_epochs;
// beyond decay_epochs[i] it is the peak times decay_factors[i].
struct RateSchedule {
    double warmup_rate = 0;
    double base_rate = 0;
    int reference_batch = 0;  // the peak is base_rate * batch / reference_batch; 0: it does not scale
    int warmup_epochs = 0;
    std::span<const int> decay_epochs;
    std::span<const double> decay_factors;

    double peak(int batch) const {
        return reference_batch > 0 ? base_rate * batch / reference_batch : base_rate;
    }
    // Of the first epoch: a batch far below the reference's must not start above its peak.
    double first(int batch) const { return std::min(warmup_rate, peak(batch)); }
    // Of `epoch`, counted from 1, with a global batch of `batch` samples.
    double at(int batch, int epoch) const;
};

struct Profile {
    std::string_view name;
    int train_samples = 0;
    int eval_samples = 0;
    int batch = 0;      // global
    double target = 0;  // of the model's metric on the held-out samples
    int maximum_epochs = 0;
    int threads = 0;  // of one rank; 0: its share of the CPUs
    RateSchedule rate;
};

}  // namespace belay::bench
