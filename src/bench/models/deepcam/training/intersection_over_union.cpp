#include "bench/models/deepcam/training/intersection_over_union.h"

#include <array>

namespace belay::bench::deepcam {

void IntersectionOverUnion::add(const Batch& batch, std::span<const float> predictions,
                                std::span<double> sums) const {
    const size_t cells = batch.targets.size() / batch.samples;
    for (size_t sample = 0; sample < batch.samples; ++sample) {
        std::array<size_t, kClasses> both{}, either{};
        for (size_t i = sample * cells; i < (sample + 1) * cells; ++i)
            for (size_t number = 0; number < kClasses; ++number) {
                const auto value = static_cast<float>(number);
                const bool predicted = predictions[i] == value, true_one = batch.targets[i] == value;
                both[number] += static_cast<size_t>(predicted && true_one);
                either[number] += static_cast<size_t>(predicted || true_one);
            }
        for (size_t number = 0; number < kClasses; ++number)
            sums[number] += either[number] == 0
                                ? 1
                                : static_cast<double>(both[number]) / static_cast<double>(either[number]);
    }
    sums[kClasses] += static_cast<double>(batch.samples);
}

Evaluation IntersectionOverUnion::conclude(std::span<const double> sums) const {
    const double samples = sums[kClasses];
    double mean = 0;
    progress::Json by_class = progress::Json::array();
    for (size_t number = 0; number < kClasses; ++number) {
        by_class.push_back(sums[number] / samples);
        mean += sums[number] / samples / kClasses;
    }
    return {mean, {{"by_class", by_class}}};
}

}  // namespace belay::bench::deepcam
