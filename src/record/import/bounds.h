// What more than would be damage or forgery in what other tools left behind.
#pragma once

#include <cstdint>

namespace belay::record {

inline constexpr int64_t kLatestSeconds =
    4'100'000'000;                          // since 1970: the year 2100, far from where nanoseconds end
inline constexpr int64_t kMostGpus = 1024;  // of a node

}  // namespace belay::record
