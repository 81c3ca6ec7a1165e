#include "env/device.h"

#include "core/text.h"

#include <algorithm>

namespace belay::env {

namespace {

using core::Result;

bool is_word(std::string_view text, std::string_view also) {
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               also.find(c) != std::string_view::npos;
    });
}

Result<> check_file(std::string_view text) {
    auto parts = core::split(text, ':');
    bool has_permissions = parts.size() > 1 && !parts.back().starts_with('/');
    if (has_permissions &&
        (parts.back().empty() || parts.back().find_first_not_of("rwm") != std::string_view::npos))
        return core::bad_input("\"{}\" are not permissions of a device", parts.back())
            .hint("write r, w, m or several of them");
    if (parts.size() - (has_permissions ? 1 : 0) > 2)
        return core::bad_input("\"{}\" has more than /dev/x:/dev/y:rwm", text);
    for (std::string_view part : std::span(parts).first(parts.size() - (has_permissions ? 1 : 0)))
        if (!part.starts_with("/dev/") || part.find("..") != std::string_view::npos)
            return core::bad_input("\"{}\" is not a path under /dev", part);
    return {};
}

}  // namespace

// Names of the Container Device Interface,
// https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md.
Result<> check_device(std::string_view text) {
    if (text.starts_with('/')) return check_file(text);
    size_t slash = text.find('/');
    size_t equals = text.find('=', slash == std::string_view::npos ? 0 : slash);
    if (slash == std::string_view::npos || equals == std::string_view::npos)
        return core::bad_input("\"{}\" names no device", text)
            .hint("write vendor/class=name, such as nvidia.com/gpu=all, or /dev/…");
    if (!is_word(text.substr(0, slash), "-_.") ||
        !is_word(text.substr(slash + 1, equals - slash - 1), "-_.") ||
        !is_word(text.substr(equals + 1), "-_.:"))
        return core::bad_input("\"{}\" holds a character that a device name cannot have", text)
            .hint("letters, digits, \"-\", \"_\" and \".\" may stand in it");
    return {};
}

}  // namespace belay::env
