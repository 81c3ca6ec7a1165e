// How many digits of a reading are recorded: no more than the counter tells.
#pragma once

#include "gpu/field.h"

namespace belay::gpu {

// Ratios to 0.0001, power to 0.1 W, rates to four digits; everything else as it was read. GPM gives doubles
// with all digits, of means over a second of counters that are sampled. Noise in the last digits does not
// compress: without it a day of a thousand GPUs takes a quarter less room.
double recorded(const Field& field, double value);

}  // namespace belay::gpu
