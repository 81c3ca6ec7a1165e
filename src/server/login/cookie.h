// Cookies by which a browser is known, and when they count: a browser sends them with every request to this server, also with
// those that a page of another site makes it send. Pure.
#pragma once

#include "core/time.h"
#include "http/headers.h"
#include "http/request.h"

#include <optional>
#include <string>
#include <string_view>

namespace belay::server {

// "__Host-": browsers take one of that name only from this host itself, over TLS (or on this machine), for all paths (RFC
// 6265bis).
inline constexpr std::string_view kSessionCookie = "__Host-belay-session";
inline constexpr std::string_view kLoginCookie = "__Host-belay-login";  // while somebody logs in

// Its value; nothing where it is missing, and where it is there twice, one of which somebody else has set.
std::optional<std::string_view> cookie_of(const http::Headers& headers, std::string_view name);

// Fields Set-Cookie: no script sees it, no request in the clear carries it, and pages of other sites get it along only by
// leading the browser here. `value` is made of letters, digits, "_" and "-".
std::string cookie_field(std::string_view name, std::string_view value, core::Duration life);
std::string no_cookie_field(std::string_view name);

// Whether a cookie says who wants this. What changes something must come from a page of this server, which browsers say by
// Origin or Sec-Fetch-Site; what only reads, too, or be a page that the browser shows as a whole (a link from elsewhere leads
// to it).
bool cookie_counts(const http::Request& request);

}  // namespace belay::server
