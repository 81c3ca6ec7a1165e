// Values of evidence for people: "1.40 GiB", "12 %", "3h20m".
#pragma once

#include "record/archive/database.h"

#include <string>
#include <string_view>
#include <vector>

namespace belay::findings {

// Units are those of the record's columns (B, B/s, s, ratio, °C ...); any other is written behind the number.
std::string value_text(const record::Value& value, std::string_view unit);

// The lines of a text that has several, which a program printed: shown one below the other. Empty for any
// other value.
std::vector<std::string_view> quoted_lines(const record::Value& value);

}  // namespace belay::findings
