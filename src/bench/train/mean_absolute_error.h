// The mean of |prediction - target| over outputs and samples: the metric of regressions in MLPerf HPC.
#pragma once

#include "bench/train/model.h"

namespace belay::bench {

class MeanAbsoluteError : public Metric {
  public:
    // `outputs` per sample, as many values in targets and predictions.
    explicit MeanAbsoluteError(size_t outputs) : outputs_(outputs) {}

    std::string_view name() const override { return "mean absolute error"; }
    std::string_view key() const override { return "eval_error"; }
    bool reached(double value, double target) const override { return value <= target; }
    size_t sums() const override { return outputs_ + 1; }  // absolute errors by output, samples
    void add(const Batch& batch, std::span<const float> predictions, std::span<double> sums) const override;
    // With the error of each output as `by_parameter`.
    Evaluation conclude(std::span<const double> sums) const override;

  private:
    size_t outputs_;
};

}  // namespace belay::bench
