// base64url without padding (RFC 4648, section 5; RFC 7515, section 2). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace belay::server {

std::string base64url_encode(std::string_view bytes);
// Nothing for other letters, padding, a length that no bytes have, and bits left over that are not 0: each text of
// bytes has one form only.
std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace belay::server
