// JSON from outside: files, records, other nodes. Read here and nowhere else (the test architecture.json), so
// that no depth crashes us: the library takes values apart, copies and prints them by recursion.
#pragma once

#include "core/error.h"

#include <concepts>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace belay::core {

// Ours nests ten deep at most, and nobody writes by hand what nests deeper than this.
inline constexpr int kMaxJsonDepth = 64;

// Whether brackets nest deeper than that, valid JSON or not.
bool nests_too_deep(std::string_view json);

// The value; a discarded one for what is not JSON, holds a number beyond any double, or nests too deep. Of a
// discarded value every at() and get() throws the library's exception, as of one of another type.
nlohmann::json parse_json(std::string_view text);
nlohmann::ordered_json parse_ordered_json(std::string_view text);
// The same with the mistake's place. Errors: kBadInput.
Result<nlohmann::ordered_json> parse_json_file(std::string_view text, std::string_view file_name);

// The whole number in `value`. The library's own conversion rounds, wraps, and is undefined for a number
// beyond T. Throws the library's type_error where `value` is not a whole number that fits T.
template <std::integral T, typename Json>
T integer_from(const Json& value) {
    if (value.is_number_unsigned()) {
        if (auto number = value.template get<typename Json::number_unsigned_t>(); std::in_range<T>(number))
            return static_cast<T>(number);
    } else if (value.is_number_integer()) {
        if (auto number = value.template get<typename Json::number_integer_t>(); std::in_range<T>(number))
            return static_cast<T>(number);
    }
    throw Json::type_error::create(302, "no whole number, or out of range", &value);
}

}  // namespace belay::core
