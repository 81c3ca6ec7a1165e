#include "server/state/names.h"

#include "core/utf8.h"

#include <algorithm>

namespace belay::server {

namespace {

bool is_name_letter(char c) {
    constexpr std::string_view kMarks = "._-+@$";
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
}

}  // namespace

bool is_plain_name(std::string_view name) {
    return !name.empty() && name.size() <= kLongestName && name.front() != '-' &&
           std::ranges::all_of(name, is_name_letter);
}

core::Result<> check_plain_name(std::string_view name, std::string_view what) {
    if (is_plain_name(name)) return {};
    if (name.empty()) return core::bad_input("the {} is missing", what);
    return core::bad_input("\"{}\" cannot be the {}", core::printable(name.substr(0, kLongestName)), what)
        .hint("names have letters, digits and . _ - + @ $, at most 255");
}

core::Result<> check_readable(std::string_view text, std::string_view what, size_t longest) {
    if (text.size() > longest) return core::bad_input("the {} has more than {} bytes", what, longest);
    if (core::printable(text) != text)
        return core::bad_input("the {} holds control characters, or is not UTF-8", what);
    return {};
}

}  // namespace belay::server
