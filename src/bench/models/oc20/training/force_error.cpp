#include "bench/models/oc20/training/force_error.h"

#include "bench/models/oc20/layout.h"

#include <algorithm>
#include <cmath>

namespace belay::bench::oc20 {

void ForceError::add(const Batch& batch, std::span<const float> predictions, std::span<double> sums) const {
    for_each_structure(batch.inputs, [&](std::span<const float> structure, size_t first_atom) {
        for (size_t atom = 0; atom < atoms_of(structure); ++atom) {
            if (is_fixed(structure, atom)) continue;
            for (size_t i = 3 * (first_atom + atom); i < 3 * (first_atom + atom + 1); ++i) {
                sums[0] += std::fabs(double{predictions[i]} - batch.targets[i]);
                sums[1] += std::fabs(double{batch.targets[i]});
            }
            sums[2] += 3;
        }
    });
}

Evaluation ForceError::conclude(std::span<const double> sums) const {
    const double components = std::max(sums[2], 1.0);  // where all atoms are fixed there is no error
    return {sums[0] / components,
            {{"zero_guess", sums[1] / components}, {"free_atoms", static_cast<int64_t>(sums[2] / 3)}}};
}

}  // namespace belay::bench::oc20
