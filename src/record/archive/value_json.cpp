#include "record/archive/value_json.h"

#include <cmath>

namespace belay::record {

using Json = nlohmann::ordered_json;

Json to_json(const Value& value) {
    return std::visit(
        [](const auto& inner) -> Json {
            using T = std::decay_t<decltype(inner)>;
            if constexpr (std::is_same_v<T, std::monostate>)
                return nullptr;
            else if constexpr (std::is_same_v<T, core::Time>)
                return core::format_time(inner);
            else if constexpr (std::is_same_v<T, double>)
                return std::isfinite(inner) ? Json(inner) : Json();
            else
                return inner;
        },
        value);
}

std::string to_text(const Value& value) {
    const Json json = to_json(value);
    if (json.is_null()) return "";
    return json.is_string() ? json.get<std::string>() : json.dump();
}

}  // namespace belay::record
