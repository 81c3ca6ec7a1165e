// Fields of CSV (RFC 4180, with "\n" at the end of a line).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace belay::core {

// As one field: in quotes where a comma, a quote or the end of a line would else end it.
std::string csv_field(std::string_view text);

// The same of a value: nothing for null, numbers as JSON writes them, and what a list holds joined by "; ". Texts come from
// other people's files: as printable() shows them, and behind an apostrophe where a spreadsheet would take them for a formula.
std::string csv_field_of(const nlohmann::ordered_json& value);

// "a,b\n" of fields that may need quotes.
std::string csv_line(std::span<const nlohmann::ordered_json> values);

}  // namespace belay::core
