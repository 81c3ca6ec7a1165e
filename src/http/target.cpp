#include "http/target.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::http {

namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const size_t length = core::utf8_character_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

// RFC 3986, section 3.3: pchar.
bool is_path_character(char c) {
    constexpr std::string_view kMarks = "-._~!$&'()*+,;=:@%";
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
}

// More than section 3.4 has: browsers send brackets, braces and others as they are.
bool is_query_character(char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '#' && c != '<' && c != '>';
}

Checked<std::string> decode_segment(std::string_view raw) {
    if (!std::ranges::all_of(raw, is_path_character))
        return refuse(400, "the path holds characters that must be written as %XX");
    auto decoded = percent_decode(raw);
    if (!decoded) return refuse(400, "the path holds % without two hex digits behind it");
    if (!is_utf8(*decoded)) return refuse(400, "the path is not UTF-8");
    if (*decoded == "." || *decoded == "..") return refuse(400, "the path holds . or ..");
    for (const char c : *decoded) {
        if (c == '/' || c == '\\') return refuse(400, "a part of the path holds an encoded slash");
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            return refuse(400, "the path holds control characters");
    }
    return std::move(*decoded);
}

Checked<std::string> decode_query_text(std::string_view raw) {
    auto decoded = percent_decode(raw, true);
    if (!decoded) return refuse(400, "the query holds % without two hex digits behind it");
    if (!is_utf8(*decoded)) return refuse(400, "the query is not UTF-8");
    if (decoded->find('\0') != std::string::npos) return refuse(400, "the query holds a NUL");
    return std::move(*decoded);
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank) {
    std::string decoded;
    decoded.reserve(text.size());
    for (size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '%') {
            const int high = at + 2 < text.size() ? hex_digit(text[at + 1]) : -1;
            const int low = at + 2 < text.size() ? hex_digit(text[at + 2]) : -1;
            if (high < 0 || low < 0) return std::nullopt;
            decoded += static_cast<char>(high * 16 + low);
            at += 2;
        } else {
            decoded += plus_is_blank && text[at] == '+' ? ' ' : text[at];
        }
    }
    return decoded;
}

Checked<std::optional<std::string_view>> Query::one(std::string_view name) const {
    const auto values = all(name);
    if (values.empty()) return std::nullopt;
    if (values.size() > 1) return refuse(400, fmt::format("the parameter {} stands there twice", name));
    return values.front();
}

Checked<std::optional<uint64_t>> Query::number(std::string_view name) const {
    const auto text = one(name);
    if (!text) return std::unexpected(text.error());
    if (!*text) return std::nullopt;
    const auto number = core::parse_number<uint64_t>(**text);
    if (!number) return refuse(400, fmt::format("the parameter {} is not a whole number", name));
    return *number;
}

std::vector<std::string_view> Query::all(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const QueryParameter& parameter : parameters_)
        if (parameter.name == name) values.emplace_back(parameter.value);
    return values;
}

Checked<Query> parse_query(std::string_view query) {
    if (!std::ranges::all_of(query, is_query_character))
        return refuse(400, "the query holds characters that must be written as %XX");
    std::vector<QueryParameter> parameters;
    for (std::string_view piece : core::split(query, '&')) {
        if (piece.empty()) continue;
        if (parameters.size() == kMostQueryParameters)
            return refuse(400, fmt::format("the query has more than {} parameters", kMostQueryParameters));
        const size_t equals = piece.find('=');
        auto name = decode_query_text(piece.substr(0, equals));
        auto value = decode_query_text(equals == std::string_view::npos ? std::string_view()
                                                                        : piece.substr(equals + 1));
        if (!name || !value) return std::unexpected(name ? value.error() : name.error());
        if (name->empty()) return refuse(400, "a parameter of the query has no name");
        parameters.push_back({std::move(*name), std::move(*value)});
    }
    return Query(std::move(parameters));
}

Checked<Target> parse_target(std::string_view text) {
    if (!text.starts_with('/')) return refuse(400, "the target does not begin with /");
    const size_t mark = text.find('?');
    Target target;
    target.path = text.substr(0, mark);
    auto raw = core::split(std::string_view(target.path).substr(1), '/');
    target.ends_with_slash = raw.size() > 1 && raw.back().empty();
    if (raw.back().empty()) raw.pop_back();
    if (raw.size() > kMostSegments)
        return refuse(400, fmt::format("the path has more than {} parts", kMostSegments));
    for (std::string_view part : raw) {
        if (part.empty()) return refuse(400, "the path holds //");
        auto segment = decode_segment(part);
        if (!segment) return std::unexpected(segment.error());
        target.segments.push_back(std::move(*segment));
    }
    if (mark == std::string_view::npos) return target;
    auto query = parse_query(text.substr(mark + 1));
    if (!query) return std::unexpected(query.error());
    target.query = std::move(*query);
    return target;
}

}  // namespace belay::http
