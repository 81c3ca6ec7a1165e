// JSON from the network: bounded in size and depth, and without an object that says a key twice.
#pragma once

#include "core/error.h"

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace belay::image {

inline constexpr int kMaxJsonDepth = 32;

// `what` names the text in errors. Errors: kSystem.
core::Result<nlohmann::json> parse_strict_json(std::string_view text, std::string_view what, size_t limit);

// Members of an object; an absent or null one is nothing. Errors: kSystem for another type, naming the key.
core::Result<std::string> text_member(const nlohmann::json& object, const char* key);
core::Result<std::vector<std::string>> text_list_member(const nlohmann::json& object, const char* key);

}  // namespace belay::image
