#include "server/login/cookie.h"

#include "core/text.h"
#include "http/gate.h"

#include <chrono>
#include <cstddef>

#include <fmt/format.h>

namespace belay::server {

namespace {

constexpr std::string_view kCookieRules = "Path=/; Secure; HttpOnly; SameSite=Lax";

// As if it changed something: then Origin is looked at.
bool is_of_our_origin(const http::Request& request) {
    return http::check_origin(http::Method::kPost, request.headers, request.tls, {}).has_value();
}

}  // namespace

std::optional<std::string_view> cookie_of(const http::Headers& headers, std::string_view name) {
    std::optional<std::string_view> found;
    for (std::string_view field : headers.all("cookie"))
        for (std::string_view pair : core::split(field, ';')) {
            pair = core::trim(pair);
            const size_t equals = pair.find('=');
            if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
            if (found) return std::nullopt;
            found = pair.substr(equals + 1);
        }
    return found;
}

std::string cookie_field(std::string_view name, std::string_view value, core::Duration life) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(life).count();
    return fmt::format("{}={}; {}; Max-Age={}", name, value, kCookieRules, seconds);
}

std::string no_cookie_field(std::string_view name) {
    return fmt::format("{}=; {}; Max-Age=0", name, kCookieRules);
}

bool cookie_counts(const http::Request& request) {
    const auto site = request.headers.find("sec-fetch-site");
    const bool has_origin = request.headers.find("origin").has_value();
    if (has_origin && !is_of_our_origin(request)) return false;
    if (http::changes_state(request.method)) {
        if (site && *site != "same-origin") return false;
        return has_origin || site;
    }
    if (!site || *site == "same-origin" || *site == "none") return true;
    return request.headers.find("sec-fetch-mode") == "navigate" &&
           request.headers.find("sec-fetch-dest") == "document";
}

}  // namespace belay::server
