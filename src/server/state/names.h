// What names of users, nodes and accounts may look like before they are stored or taken from a token. Pure.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <string_view>

namespace belay::server {

inline constexpr size_t kLongestName = 255;

// Letters, digits and ".", "_", "-", "+", "@", "$" of ASCII, the first no "-": what systems have, and nothing that looks like
// another name.
bool is_plain_name(std::string_view name);
// Errors: kBadInput, "the user's name "…"": what it is for.
core::Result<> check_plain_name(std::string_view name, std::string_view what);

// For text that people read: UTF-8 without control characters. Errors: kBadInput.
core::Result<> check_readable(std::string_view text, std::string_view what, size_t longest);

}  // namespace belay::server
