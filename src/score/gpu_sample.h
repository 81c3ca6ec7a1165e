// One reading of a GPU as the score looks at it.
#pragma once

#include "schema/tables/gpu_digest.h"
#include "score/ceilings.h"
#include "score/window.h"

#include <array>

namespace belay::score {

// One row of the table `gpu`.
struct GpuSample : schema::GpuValues {
    Activity activity() const;
    // B/s, both directions together, by Link
    std::array<double, kLinks> links() const;
};

// What a quantity is in a sample; NaN where it is missing, and for those that the model makes of windows.
double value_of(const schema::GpuQuantity& quantity, const GpuSample& sample, const DeviceCeilings& ceilings);

}  // namespace belay::score
