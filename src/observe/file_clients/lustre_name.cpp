#include "observe/file_clients/lustre_name.h"

#include <algorithm>

namespace belay::observe::file_clients {

namespace {

bool is_address(std::string_view text) {
    return text.size() >= 8 && text.size() <= 16 &&
           std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Takes what stands behind the last "-", with it, off the text, since a file system's name may hold some;
// "" where there is none.
std::string_view take_last_part(std::string_view& text) {
    const size_t dash = text.rfind('-');
    if (dash == std::string_view::npos) return {};
    const std::string_view part = text.substr(dash + 1);
    text = text.substr(0, dash);
    return part;
}

}  // namespace

std::optional<LustreName> parse_lustre_name(std::string_view type, std::string_view name) {
    LustreName parsed;
    parsed.instance = take_last_part(name);
    if (!is_address(parsed.instance)) return std::nullopt;
    if (type != "llite") {
        if (take_last_part(name) != type) return std::nullopt;
        parsed.target = name;
        const std::string_view number = take_last_part(name);
        if (!number.starts_with("MDT") && !number.starts_with("OST")) return std::nullopt;
    }
    parsed.file_system = name;
    if (parsed.file_system.empty()) return std::nullopt;
    return parsed;
}

}  // namespace belay::observe::file_clients
