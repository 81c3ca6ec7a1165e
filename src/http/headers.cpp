#include "http/headers.h"

#include "core/text.h"

#include <algorithm>

namespace belay::http {

void Headers::add(std::string_view lower_case_name, std::string_view value) {
    headers_.push_back({std::string(lower_case_name), std::string(value)});
}

std::optional<std::string_view> Headers::find(std::string_view lower_case_name) const {
    for (const Header& header : headers_)
        if (header.name == lower_case_name) return header.value;
    return std::nullopt;
}

std::vector<std::string_view> Headers::all(std::string_view lower_case_name) const {
    std::vector<std::string_view> values;
    for (const Header& header : headers_)
        if (header.name == lower_case_name) values.emplace_back(header.value);
    return values;
}

bool Headers::lists(std::string_view lower_case_name, std::string_view word) const {
    for (std::string_view value : all(lower_case_name))
        for (std::string_view piece : core::split(value, ','))
            if (core::lower_case(core::trim(piece)) == word) return true;
    return false;
}

bool is_token(std::string_view text) {
    constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               kMarks.find(c) != std::string_view::npos;
    });
}

bool is_field_value(std::string_view text) {
    auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
    if (!text.empty() && (is_blank(text.front()) || is_blank(text.back()))) return false;
    return std::ranges::none_of(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\t') || byte == 0x7f;
    });
}

}  // namespace belay::http
