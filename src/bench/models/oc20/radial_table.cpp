#include "bench/models/oc20/radial_table.h"

#include <algorithm>

namespace belay::bench::oc20 {

namespace {
constexpr size_t kFirstNode = 64;
}

RadialTable::RadialTable(const SphericalBasis& basis, double cutoff)
    : basis_(basis),
      step_(cutoff / kNodes),
      functions_(static_cast<size_t>(basis.orders()) * static_cast<size_t>(basis.numbers())),
      values_((kNodes + 1) * functions_),
      slopes_((kNodes + 1) * functions_) {
    for (size_t node = kFirstNode; node <= kNodes; ++node)
        basis_.radial(static_cast<double>(node) * step_,
                      std::span(values_).subspan(node * functions_, functions_),
                      std::span(slopes_).subspan(node * functions_, functions_));
}

void RadialTable::at(double distance, std::span<double> values, std::span<double> slopes) const {
    const double place = distance / step_;
    if (!(place >= kFirstNode)) return basis_.radial(distance, values, slopes);
    const size_t node = std::min(static_cast<size_t>(place), kNodes - 1);
    const double t = place - static_cast<double>(node);
    const double* v0 = values_.data() + node * functions_;
    const double* s0 = slopes_.data() + node * functions_;
    const double *v1 = v0 + functions_, *s1 = s0 + functions_;
    for (size_t i = 0; i < functions_; ++i) {
        const double rise = v1[i] - v0[i], first = step_ * s0[i], second = step_ * s1[i];
        const double square = 3 * rise - 2 * first - second, cube = first + second - 2 * rise;
        values[i] = v0[i] + t * (first + t * (square + t * cube));
        slopes[i] = (first + t * (2 * square + 3 * t * cube)) / step_;
    }
}

}  // namespace belay::bench::oc20
