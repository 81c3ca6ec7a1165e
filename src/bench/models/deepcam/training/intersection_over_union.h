// The metric of segmentations in MLPerf HPC.
#pragma once

#include "bench/models/deepcam/deeplab.h"
#include "bench/train/model.h"

namespace belay::bench::deepcam {

// Of each sample and class, the cells that are of the class in prediction and mask over those that are in either; 1
// where there are none in both. The mean over classes, then over samples. Source: mlcommons/hpc,
// deepcam/src/deepCam/utils/metric.py.
class IntersectionOverUnion : public Metric {
  public:
    std::string_view name() const override { return "intersection over union"; }
    std::string_view key() const override { return "eval_accuracy"; }
    bool reached(double value, double target) const override { return value >= target; }
    size_t sums() const override { return kClasses + 1; }  // ratios by class, samples
    // Targets and predictions are numbers of classes, [samples][cells]. A target beyond them is of no class.
    void add(const Batch& batch, std::span<const float> predictions, std::span<double> sums) const override;
    // With the ratio of each class as `by_class`.
    Evaluation conclude(std::span<const double> sums) const override;
};

}  // namespace belay::bench::deepcam
