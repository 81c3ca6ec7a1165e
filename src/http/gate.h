// Who may send a request at all: pages of other sites are kept out.
#pragma once

#include "http/headers.h"
#include "http/method.h"
#include "http/refusal.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace belay::http {

// "Node1.example.org:8443" → "node1.example.org", "[::1]:80" → "::1"; nothing for what is not a host.
std::optional<std::string> host_name_of(std::string_view host_field);

// The host must be one of the names by which this server is known: a page of another site, whose name was made to lead here,
// is told from our own by that only (DNS rebinding). Names in lower case, without ports. Errors: 400, 421.
Checked<> check_host(std::string_view host_field, std::span<const std::string> names);

// Whom a connection is counted for: who has a network of IPv6 may choose among 2^64 addresses, so its first 64 bits count.
std::string peer_group(const std::string& numeric_address);

// For methods that change something, what browsers say about the page that sends it: Origin (RFC 6454) must be this server's,
// "https://HOST" as the request names it, or one of `origins`; without it, Sec-Fetch-Site must not name another site. Programs
// that are not browsers send neither and are let through: they carry nobody else's cookies. Errors: 403.
Checked<> check_origin(Method method, const Headers& headers, bool tls, std::span<const std::string> origins);

}  // namespace belay::http
