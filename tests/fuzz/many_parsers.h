// For a fuzzer of several small parsers: the first byte says which of them reads the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

inline void require(bool holds) {
    if (!holds) std::abort();
}

template <size_t kCount>
void feed_one_of(void (*const (&parsers)[kCount])(std::string_view), const uint8_t* data, size_t size) {
    if (size == 0) return;
    parsers[data[0] % kCount]({reinterpret_cast<const char*>(data) + 1, size - 1});
}
