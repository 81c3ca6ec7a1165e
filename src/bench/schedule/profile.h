// What a training run is beside its network: sizes, target, optimizer and learning rate, as data. Every model
// has profiles of this shape, and what is only its own (channels, dropout, ...) beside them.
#pragma once

#include "bench/optimize/optimizer.h"
#include "bench/schedule/rate.h"

#include <string_view>

namespace belay::bench {

// By which keys the closed rules of a benchmark want its optimizer and its rate to be logged
// (mlcommons/logging, compliance_checker, closed_*.yaml).
enum class LogStyle {
    kEpochs,     // as cosmoflow: opt_learning_rate_warmup_epochs, ..._decay_boundary_epochs
    kSteps,      // as oc20: opt_learning_rate_warmup_steps, ..._decay_boundary_steps
    kScheduler,  // as deepcam: opt_lr, opt_betas, scheduler_type, scheduler_lr_warmup_steps, ...
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
    OptimizerSettings optimizer = {};
    LogStyle log_style = LogStyle::kEpochs;

    int steps_per_epoch() const { return train_samples / batch; }
    int64_t total_steps() const { return int64_t{maximum_epochs} * steps_per_epoch(); }
};

}  // namespace belay::bench
