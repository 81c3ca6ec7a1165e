#include "stage/retention/glob.h"

#include "core/text.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace belay::stage {

namespace {

// One element of a pattern, and where the next begins.
struct Element {
    enum class Kind { kByte, kAnyByte, kSet, kAny, kAnyInPart };
    Kind kind = Kind::kByte;
    std::string_view text = {};  // the byte, or what stands between the brackets
};

std::vector<Element> elements_of(std::string_view pattern) {
    std::vector<Element> elements;
    for (size_t at = 0; at < pattern.size(); ++at) {
        switch (pattern[at]) {
            case '*': {
                const bool twice = at + 1 < pattern.size() && pattern[at + 1] == '*';
                elements.push_back({.kind = twice ? Element::Kind::kAny : Element::Kind::kAnyInPart});
                at += twice ? 1 : 0;
                break;
            }
            case '?':
                elements.push_back({.kind = Element::Kind::kAnyByte});
                break;
            case '[': {
                const size_t negated = at + 1 < pattern.size() && pattern[at + 1] == '!' ? 1 : 0;
                // A bracket that stands first is meant itself.
                const size_t end = pattern.find(']', at + 2 + negated);
                if (end == std::string_view::npos)
                    elements.push_back({.text = pattern.substr(at, 1)});
                else {
                    elements.push_back(
                        {.kind = Element::Kind::kSet, .text = pattern.substr(at + 1, end - at - 1)});
                    at = end;
                }
                break;
            }
            default:
                elements.push_back({.text = pattern.substr(at, 1)});
        }
    }
    return elements;
}

bool is_in_set(std::string_view set, char byte) {
    const bool negated = set.starts_with('!');
    if (negated) set.remove_prefix(1);
    bool found = false;
    const auto value = static_cast<unsigned char>(byte);
    for (size_t at = 0; at < set.size(); ++at) {
        const auto first = static_cast<unsigned char>(set[at]);
        auto last = first;
        if (at + 2 < set.size() && set[at + 1] == '-') {
            last = static_cast<unsigned char>(set[at + 2]);
            at += 2;
        }
        found = found || (value >= first && value <= last);
    }
    return found != negated;
}

bool takes(const Element& element, char byte) {
    switch (element.kind) {
        case Element::Kind::kByte:
            return element.text[0] == byte;
        case Element::Kind::kAnyByte:
            return byte != '/';
        case Element::Kind::kSet:
            return byte != '/' && is_in_set(element.text, byte);
        case Element::Kind::kAny:
            return true;
        case Element::Kind::kAnyInPart:
            return byte != '/';
    }
    return false;
}

bool may_repeat(const Element& element) {
    return element.kind == Element::Kind::kAny || element.kind == Element::Kind::kAnyInPart;
}

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view text) {
    const std::vector<Element> elements = elements_of(pattern);
    // reached[i]: the first i elements match the text so far.
    std::vector<bool> reached(elements.size() + 1);
    auto pass_over = [&] {
        for (size_t i = 0; i < elements.size(); ++i)
            if (reached[i] && may_repeat(elements[i])) reached[i + 1] = true;
    };
    reached[0] = true;
    pass_over();
    for (const char byte : text) {
        std::vector<bool> next(elements.size() + 1);
        for (size_t i = 0; i < elements.size(); ++i) {
            if (!reached[i] || !takes(elements[i], byte)) continue;
            next[may_repeat(elements[i]) ? i : i + 1] = true;
        }
        reached = std::move(next);
        pass_over();
    }
    return reached.back();
}

bool is_exempt(std::span<const std::string> patterns, std::string_view path) {
    return std::ranges::any_of(patterns, [&](const std::string& written) {
        std::string_view pattern = written;
        if (!pattern.contains('/')) {
            const auto parts = core::split(path, '/');
            return std::ranges::any_of(parts,
                                       [&](std::string_view part) { return matches_glob(pattern, part); });
        }
        if (pattern.starts_with('/')) pattern.remove_prefix(1);
        while (pattern.ends_with('/')) pattern.remove_suffix(1);
        for (size_t end = path.find('/'); end != std::string_view::npos; end = path.find('/', end + 1))
            if (matches_glob(pattern, path.substr(0, end))) return true;
        return matches_glob(pattern, path);
    });
}

}  // namespace belay::stage
