// JSON exactly as Python 3.11's json.loads() reads a text that was decoded as Latin-1: with NaN and Infinity,
// integers of any size up to 4,300 digits and, of repeated members, the last. The slow way to a value; most
// lines of a log go the fast one (mllog_reader.h).
#pragma once

#include "bench/compliance/python_value.h"

#include <expected>
#include <memory_resource>
#include <string_view>

namespace belay::bench {

// Python gives up near 1,000 nested arrays and objects.
inline constexpr int kMostNested = 990;
// sys.int_info.default_max_str_digits: more make int() raise ValueError.
inline constexpr size_t kMostDigits = 4300;

struct JsonProblem {
    size_t byte = 0;  // from 1
    std::string_view what;
};

// `latin1` and `arena` must outlive the value.
std::expected<PythonValue, JsonProblem> read_python_value(std::string_view latin1,
                                                          std::pmr::memory_resource& arena);

}  // namespace belay::bench
