// JSON as Python's json module reads and writes it: with NaN and Infinity.
#pragma once

#include "core/error.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace belay::core {

// Members keep the order in which they were put in or read, as in Python.
using OrderedJson = nlohmann::ordered_json;

// Arrays and objects nested deeper than this are refused by the parser (Python gives up near 1,000).
inline constexpr int kMaxPythonJsonDepth = 200;

// The bytes of Python's json.dumps(value): ", " and ": " between parts, ASCII with \u escapes, floats as
// repr() writes them (shortest text that reads back the same), NaN, Infinity and -Infinity. Strings are
// UTF-8; what is not valid UTF-8 becomes U+FFFD.
std::string write_python_json(const OrderedJson& value);

// Python's repr(float): 0.1, 1.0, 1e-05, 1e+16, nan as NaN.
std::string write_python_float(double value);

enum class TextEncoding {
    kUtf8,
    kLatin1,  // each byte is one character, U+0000 to U+00FF
};

// What Python's json.loads makes of the text; strings come out as UTF-8. NaN, Infinity and -Infinity are
// numbers, of repeated members the last counts, control characters in strings and anything after the value
// are errors. Deviations: integers outside 64 bits become floats, lone surrogates become U+FFFD. Errors:
// kBadInput with the byte (from 1) where reading stopped.
Result<OrderedJson> parse_python_json(std::string_view text, TextEncoding encoding = TextEncoding::kUtf8);

}  // namespace belay::core
