// Means over the steps of a run, from rows that say the means since the one before: `tracked_stats` of Belay's trainer in a
// log, and rows of progress in a job record.
#pragma once

#include "bench/compliance/check.h"

#include <optional>

namespace belay::bench {

// Nothing where the row does not say it. Rates are of the whole run, seconds of one step.
struct TrackedStats {
    std::optional<double> step, samples_per_second, step_seconds, flops_per_second, memory_bytes_per_second,
        data_wait_seconds, exposed_communication_seconds;
};

class MeansOverSteps {
  public:
    // Of a run that goes on: it has been at this step before.
    void begin_at(double step) { last_step_ = step; }
    void add(const TrackedStats& row);
    // What the rows say of steps and samples; the rest stays as it is.
    void put_into(LogFacts& facts) const;

  private:
    class Mean {
      public:
        void add(const std::optional<double>& value, double steps);
        std::optional<double> value() const;

      private:
        double sum_ = 0, steps_ = 0;
    };
    double last_step_ = 0;
    Mean step_seconds_, data_wait_, communication_;   // of a step
    Mean seconds_per_sample_, flops_, memory_bytes_;  // of a sample
};

}  // namespace belay::bench
