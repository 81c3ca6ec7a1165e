// Base64 (RFC 4648) for HTTP Basic and credential files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace belay::image {

std::string base64_encode(std::string_view bytes);
// Nothing for what is not base64, padding included.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace belay::image
