// Numbers as a person reads them. Rates use decimal prefixes (MB/s), memory binary ones (GiB); a missing
// value is "–". The page's format.js follows the same rules.
#pragma once

#include "core/text.h"

#include <span>
#include <string>
#include <string_view>

namespace belay::report {

// Three significant digits and the unit: "87 %", "12.3 GiB", "1.20 MB/s", "118 samples/s", "0.126", "0.13",
// "1e-5".
std::string format_quantity(double value, std::string_view unit);

// "98.3 %": cut, not rounded, so that only what is complete says 100.
std::string format_coverage(double share);

// The two largest parts: "2 min 58 s", "1 h 2 min", "3 d", "0.82 s", "12 ms". Less than 0.1 µs is "0 s".
std::string format_duration(double seconds);

// "2:58", "1:02:58": a place on the time axis.
std::string format_elapsed(double seconds);

using core::format_count;

// One character per value from U+2581 to U+2588, 0 to `top`; a missing value is a blank. Values are averaged
// into `width` cells if there are more than that. `top` not above 0 means the highest value.
std::string sparkline(std::span<const double> values, size_t width, double top);

}  // namespace belay::report
