#include "bench/train/mean_absolute_error.h"

#include <cmath>

namespace belay::bench {

void MeanAbsoluteError::add(const Batch& batch, std::span<const float> predictions,
                            std::span<double> sums) const {
    for (size_t i = 0; i < batch.samples; ++i)
        for (size_t output = 0; output < outputs_; ++output)
            sums[output] +=
                std::fabs(double{predictions[i * outputs_ + output]} - batch.targets[i * outputs_ + output]);
    sums.back() += static_cast<double>(batch.samples);
}

Evaluation MeanAbsoluteError::conclude(std::span<const double> sums) const {
    progress::Json by_parameter = progress::Json::array();
    double total = 0;
    for (size_t output = 0; output < outputs_; ++output) {
        by_parameter.push_back(sums[output] / sums.back());
        total += sums[output] / sums.back();
    }
    return {total / static_cast<double>(outputs_), {{"by_parameter", by_parameter}}};
}

}  // namespace belay::bench
