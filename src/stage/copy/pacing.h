// How much goes at a time where there is a limit on bytes a second.
#pragma once

#include <algorithm>
#include <cstdint>

namespace belay::stage {

// Of a limit of `rate` bytes a second, what a quarter of a second allows, and `most` at most; all of it without a
// limit (0).
constexpr uint64_t paced_bytes(uint64_t rate, uint64_t most) {
    constexpr uint64_t kPacesPerSecond = 4;
    return rate == 0 ? most : std::clamp<uint64_t>(rate / kPacesPerSecond, 1, std::max<uint64_t>(most, 1));
}

}  // namespace belay::stage
