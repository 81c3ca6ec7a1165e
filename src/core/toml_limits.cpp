#include "core/toml_limits.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::core {

namespace {

// Behind the string that begins at `at`; one on a single line ends with the line at the latest.
size_t after_string(std::string_view text, size_t at) {
    const char quote = text[at];
    const bool escapes = quote == '"';
    const std::string fence(3, quote);
    const bool many_lines = text.substr(at).starts_with(fence);
    for (at += many_lines ? 3 : 1; at < text.size(); ++at) {
        if (escapes && text[at] == '\\')
            ++at;
        else if (many_lines && text.substr(at).starts_with(fence))
            return std::min(text.find_first_not_of(quote, at),
                            at + 5);  // two before the fence are of the text
        else if (!many_lines && (text[at] == quote || text[at] == '\n'))
            return at + 1;
    }
    return text.size();
}

}  // namespace

std::optional<TomlExcess> find_excess(std::string_view text) {
    if (text.size() > kMaxTomlBytes)
        return TomlExcess{0, fmt::format("the file is larger than {} KiB", kMaxTomlBytes >> 10)};
    size_t depth = 0;
    size_t parts = 1;  // of the key that may stand here; in a value a point means nothing
    for (size_t at = 0; at < text.size();) {
        switch (text[at]) {
            case '"':
            case '\'':
                at = after_string(text, at);
                continue;
            case '#':
                at = std::min(text.find('\n', at), text.size());
                continue;
            case '.':
                if (++parts > kMaxTomlKeyParts)
                    return TomlExcess{at, fmt::format("a key has more than {} parts", kMaxTomlKeyParts)};
                break;
            case '[':
            case '{':
                parts = 1;
                if (++depth > kMaxTomlDepth)
                    return TomlExcess{at, fmt::format("nested more than {} levels deep", kMaxTomlDepth)};
                break;
            case ']':
            case '}':
                depth -= std::min<size_t>(depth, 1);
                [[fallthrough]];
            case '=':
            case ',':
            case '\n':
                parts = 1;
                break;
            default:
                break;
        }
        ++at;
    }
    return std::nullopt;
}

}  // namespace belay::core
