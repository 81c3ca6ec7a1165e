#include "bench/compliance/tracked_stats.h"

#include <algorithm>
#include <cmath>

namespace belay::bench {

void MeansOverSteps::Mean::add(const std::optional<double>& value, double steps) {
    if (!value) return;
    sum_ += *value * steps;
    steps_ += steps;
}

std::optional<double> MeansOverSteps::Mean::value() const {
    const double mean = sum_ / steps_;
    return steps_ > 0 && std::isfinite(mean) ? std::optional(mean) : std::nullopt;
}

void MeansOverSteps::add(const TrackedStats& row) {
    const double before = last_step_;
    last_step_ = row.step.value_or(last_step_ + 1);
    // A log of several runs begins again.
    const double steps = last_step_ > before ? last_step_ - before : std::max(last_step_, 1.0);
    step_seconds_.add(row.step_seconds, steps);
    data_wait_.add(row.data_wait_seconds, steps);
    communication_.add(row.exposed_communication_seconds, steps);
    if (!row.samples_per_second || !(*row.samples_per_second > 0)) return;
    // A mean of rates over one amount of work is harmonic: of the seconds that a sample took.
    const auto of_sample = [&](const std::optional<double>& rate) {
        return rate ? std::optional(*rate / *row.samples_per_second) : std::nullopt;
    };
    seconds_per_sample_.add(of_sample(1), steps);
    flops_.add(of_sample(row.flops_per_second), steps);
    memory_bytes_.add(of_sample(row.memory_bytes_per_second), steps);
}

void MeansOverSteps::put_into(LogFacts& facts) const {
    facts.step_seconds = step_seconds_.value();
    facts.data_wait_seconds_per_step = data_wait_.value();
    facts.exposed_communication_seconds_per_step = communication_.value();
    facts.flops_per_sample = flops_.value();
    facts.memory_bytes_per_sample = memory_bytes_.value();
    if (const auto seconds = seconds_per_sample_.value()) facts.samples_per_second = 1 / *seconds;
}

}  // namespace belay::bench
