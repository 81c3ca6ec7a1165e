#include "http/gate.h"

#include "core/text.h"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>

namespace belay::http {

namespace {

bool is_host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}
bool is_address_character(char c) {
    return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

// Of a port, with its colon; it may be left away.
bool is_port(std::string_view text) {
    return text.empty() || (text.front() == ':' && core::parse_number<uint16_t>(text.substr(1)).has_value());
}

// As an Origin names it: without the port that the scheme implies.
std::string origin_of(bool tls, std::string_view host_field) {
    const std::string_view implied = tls ? ":443" : ":80";
    if (host_field.ends_with(implied)) host_field.remove_suffix(implied.size());
    return (tls ? "https://" : "http://") + core::lower_case(host_field);
}

}  // namespace

std::optional<std::string> host_name_of(std::string_view host_field) {
    std::string host = core::lower_case(host_field);
    const bool bracketed = host.starts_with('[');
    const size_t end = bracketed ? host.find(']') : std::min(host.find(':'), host.size());
    if (end == std::string::npos || !is_port(std::string_view(host).substr(end + (bracketed ? 1 : 0))))
        return std::nullopt;
    std::string name = bracketed ? host.substr(1, end - 1) : host.substr(0, end);
    if (name.empty() || !std::ranges::all_of(name, bracketed ? is_address_character : is_host_character))
        return std::nullopt;
    return name;
}

Checked<> check_host(std::string_view host_field, std::span<const std::string> names) {
    const auto name = host_name_of(host_field);
    if (!name) return refuse(400, "the field Host is not NAME:PORT");
    if (std::ranges::find(names, *name) == names.end())
        return refuse(421, "this server is not known by the name in Host",
                      "add the name to those that the server answers to");
    return {};
}

std::string peer_group(const std::string& numeric_address) {
    in6_addr bytes{};
    if (inet_pton(AF_INET6, numeric_address.c_str(), &bytes) != 1) return numeric_address;
    return {reinterpret_cast<const char*>(&bytes), sizeof bytes / 2};
}

Checked<> check_origin(Method method, const Headers& headers, bool tls,
                       std::span<const std::string> origins) {
    if (!changes_state(method)) return {};
    if (const auto origin = headers.find("origin")) {
        const std::string text = core::lower_case(*origin);
        if (text == origin_of(tls, headers.find("host").value_or(""))) return {};
        if (std::ranges::find(origins, text) != origins.end()) return {};
        return refuse(403, "a page of another site sent this request",
                      "add its origin to those that the server trusts");
    }
    const auto site = headers.find("sec-fetch-site");
    if (site && *site != "same-origin" && *site != "none")
        return refuse(403, "a page of another site sent this request");
    return {};
}

}  // namespace belay::http
