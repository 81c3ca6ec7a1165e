// The learning rate of every step, as data: warm-up, then a course, and how both follow the batch.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace belay::bench {

// How the peak follows a batch that is k times the reference's: times k (Goyal et al., 2017), times the root of k
// (Krizhevsky, 2014; You et al., 2020, for LAMB), or not at all.
enum class Scaling { kLinear, kSquareRoot, kNone };
// "linear", "sqrt", "none". Errors: kBadInput.
core::Result<Scaling> scaling_named(std::string_view name);

enum class Course {
    kMultistep,  // the peak times a factor, which changes at boundaries
    kCosine,     // from the peak to final_rate in half a wave over all steps after the warm-up
};

// Where in a run a step is.
struct StepPlace {
    int epoch = 1;            // from 1
    int64_t step = 1;         // from 1, over all epochs
    int64_t total_steps = 1;  // of the longest run: maximum_epochs
    int64_t epoch_steps = 1;
};

// Of the boundaries of a multistep course only one kind is given: behind boundary i the rate is the peak times
// decay_factors[i]. The warm-up is in epochs, with one rate for each (CosmoFlow's reference), or in steps
// (DeepCAM's and OC20's).
struct RateSchedule {
    double warmup_rate = 0;    // at the start of the warm-up, whatever the batch (CosmoFlow's reference); or
    double warmup_factor = 0;  // the share of the peak at the start of the warm-up (OC20's)
    double base_rate = 0;      // of the reference batch
    int reference_batch = 0;   // 0: the rate does not scale
    int warmup_epochs = 0;
    std::span<const int> decay_epochs = {};
    std::span<const double> decay_factors = {};

    int64_t warmup_steps = 0;  // instead of epochs
    std::span<const int> decay_steps = {};
    std::span<const double> decay_shares = {};  // of all steps, 0 to 1
    // decay_steps count from the end of the warm-up (DeepCAM's reference, utils/schedulers.py: milestone m takes effect
    // when m + warmup_steps + 1 steps were made).
    bool decays_behind_warmup = false;
    Course course = Course::kMultistep;
    double final_rate = 0;  // of the cosine
    Scaling scaling = Scaling::kLinear;

    double peak(int batch) const;
    // Of the first step: a batch far below the reference's must not start above its peak.
    double first(int batch) const;
    // Of a step with a global batch of `batch` samples.
    double at(int batch, const StepPlace& place) const;
    // Of an epoch, where nothing is in steps.
    double at(int batch, int epoch) const { return at(batch, {.epoch = epoch}); }

    // Whatever it is given in.
    int64_t steps_of_warmup(int64_t steps_per_epoch) const;
    // The boundaries in steps, whatever they are given in, in a run of so many; for the log, which has them as they are
    // counted here.
    std::vector<int64_t> boundary_steps(int64_t steps_per_epoch, int64_t total_steps) const;
};

// "3", "3epochs" or "400steps": sets the warm-up of `rate`. Errors: kBadInput.
core::Result<> set_warmup(std::string_view text, RateSchedule& rate);

}  // namespace belay::bench
