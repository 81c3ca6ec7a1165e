// Radial functions from a table, since a spherical Bessel function by its series costs a thousand operations and a
// batch of structures has thousands of edges.
#pragma once

#include "bench/models/oc20/basis.h"

#include <span>
#include <vector>

namespace belay::bench::oc20 {

// Cubic Hermite interpolation between nodes that are cutoff/kNodes apart, from the values and slopes there. Its
// slopes are those of the interpolation, so that forces stay the gradient of the energy; above a tenth of the
// cutoff they differ from the exact ones by less than 1e-6 of the largest (tested). Below the 64th node, where the
// functions rise steeply, the exact functions are used.
class RadialTable {
  public:
    static constexpr size_t kNodes = 4096;
    RadialTable(const SphericalBasis& basis, double cutoff);
    // As SphericalBasis::radial().
    void at(double distance, std::span<double> values, std::span<double> slopes) const;

  private:
    SphericalBasis basis_;
    double step_;
    size_t functions_;
    std::vector<double> values_, slopes_;  // [node][function]
};

}  // namespace belay::bench::oc20
