// JSON as Python's json module reads and writes it, which is what MLLOG lines are made by and checked with.
#pragma once

#include "core/error.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace belay::progress {

// Members keep the order in which they were put in or read, as in Python.
using Json = nlohmann::ordered_json;

// Arrays and objects nested deeper than this are refused by the parser (Python gives up near 1,000).
inline constexpr int kMaximumJsonDepth = 200;

// The bytes of Python's json.dumps(value): ", " and ": " between parts, ASCII with \u escapes, floats as
// repr() writes them (shortest text that reads back the same), NaN, Infinity and -Infinity. Strings are
// UTF-8; what is not valid UTF-8 becomes U+FFFD.
std::string write_python_json(const Json& value);

// Python's repr(float): 0.1, 1.0, 1e-05, 1e+16, nan as NaN.
std::string write_python_float(double value);

// What Python's json.loads makes of `latin1` (each byte one character U+0000..U+00FF; strings come out as
// UTF-8): NaN, Infinity and -Infinity are numbers, of repeated members the last counts, control characters in
// strings and anything after the value are errors. Deviations: integers outside 64 bits become floats, lone
// surrogates become U+FFFD. Errors: kBadInput with the byte (from 1) where reading stopped.
core::Result<Json> parse_python_json(std::string_view latin1);

}  // namespace belay::progress
