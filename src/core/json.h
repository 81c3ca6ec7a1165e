#pragma once

#include <concepts>
#include <utility>

#include <nlohmann/json.hpp>

namespace belay::core {

// The whole number in `value`. The library's own conversion rounds, wraps, and is undefined for a number
// beyond T. Throws the library's type_error where `value` is no whole number that fits T.
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
