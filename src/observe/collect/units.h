// From the kernel's units to the record's, where a value may be absent.
#pragma once

#include <cstdint>
#include <optional>

namespace belay::observe::collect {

// `count` parts of a second, of which `per_second` make one.
inline std::optional<double> seconds_of(std::optional<int64_t> count, int64_t per_second) {
    if (!count) return std::nullopt;
    return static_cast<double>(*count) / static_cast<double>(per_second);
}

// Nothing if one of them is absent.
inline std::optional<int64_t> sum(std::optional<int64_t> a, std::optional<int64_t> b) {
    int64_t result = 0;
    if (!a || !b || __builtin_add_overflow(*a, *b, &result)) return std::nullopt;
    return result;
}

inline constexpr int64_t kMilliseconds = 1'000;
inline constexpr int64_t kMicroseconds = 1'000'000;
inline constexpr int64_t kNanoseconds = 1'000'000'000;

}  // namespace belay::observe::collect
