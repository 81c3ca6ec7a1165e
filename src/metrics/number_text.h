// Numbers and times as the text formats write them. What is written is read as the same bits, NaN as a NaN.
#pragma once

#include "core/time.h"

#include <optional>
#include <string>
#include <string_view>

namespace belay::metrics {

// The shortest text that is read as the same number: "0.1", "1e+20", "NaN", "+Inf", "-Inf".
std::string number_text(double value);
// The inverse; nothing for any other text, also of the same number.
std::optional<double> parse_number_text(std::string_view text);

// A bound as the label "le" has it, so that it is the same whoever writes it: "1.0", "0.001", "1e+06", "+Inf"
// (OpenMetrics 1.0, "Canonical Numbers": as Go's %g, with ".0" where neither point nor exponent is).
std::string bound_text(double bound);
// The inverse, +Inf included; nothing for any other text.
std::optional<double> parse_bound_text(std::string_view text);

// Seconds since 1970 with as many of nine decimals as are not zeros: "1700000000.5".
std::string seconds_text(core::Time time);
// The inverse; nothing for any other text, and beyond what a Time can be.
std::optional<core::Time> parse_seconds_text(std::string_view text);

// Whole milliseconds since 1970, rounded down.
int64_t milliseconds_of(core::Time time);
// The inverse; nothing beyond what a Time can be.
std::optional<core::Time> time_of_milliseconds(int64_t milliseconds);

}  // namespace belay::metrics
