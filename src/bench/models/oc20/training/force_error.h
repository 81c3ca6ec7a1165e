// The metric of OC20: the mean absolute error of forces.
#pragma once

#include "bench/train/model.h"

namespace belay::bench::oc20 {

// In eV/Å, over the components of all free atoms of all held-out structures; atoms count alike, unlike in the loss.
class ForceError : public Metric {
  public:
    std::string_view name() const override { return "mean absolute error of forces"; }
    std::string_view key() const override { return "eval_error"; }
    bool reached(double value, double target) const override { return value <= target; }
    size_t sums() const override { return 3; }  // absolute errors, absolute labels, components
    void add(const Batch& batch, std::span<const float> predictions, std::span<double> sums) const override;
    // With what a guess of no force would be worth as `zero_guess`, and the number of free atoms.
    Evaluation conclude(std::span<const double> sums) const override;
};

}  // namespace belay::bench::oc20
