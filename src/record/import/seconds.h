#pragma once

#include "core/time.h"

#include <chrono>
#include <cmath>

namespace belay::record {

// To the microsecond: that much of a date a double holds.
inline core::Duration duration_of(double seconds) {
    return std::chrono::microseconds(std::llround(seconds * 1e6));
}

}  // namespace belay::record
