#include "core/utf8.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace belay::core {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_continuation(char c) {
    return (static_cast<uint8_t>(c) & 0xC0) == 0x80;
}

// One row of RFC 3629's table of well-formed sequences: the first byte's range, how many follow, and the
// range of the second.
struct Form {
    uint8_t first_low, first_high;
    size_t length;
    uint8_t second_low, second_high;
};

constexpr Form kForms[] = {
    {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF}, {0xE1, 0xEC, 3, 0x80, 0xBF},
    {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF}, {0xF0, 0xF0, 4, 0x90, 0xBF},
    {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

}  // namespace

size_t utf8_character_length(std::string_view text) {
    uint8_t first = static_cast<uint8_t>(text[0]);
    if (first < 0x80) return 1;
    for (const Form& form : kForms) {
        if (first < form.first_low || first > form.first_high) continue;
        if (text.size() < form.length) return 0;
        uint8_t second = static_cast<uint8_t>(text[1]);
        if (second < form.second_low || second > form.second_high) return 0;
        for (size_t i = 2; i < form.length; ++i)
            if (!is_continuation(text[i])) return 0;
        return form.length;
    }
    return 0;
}

char32_t take_utf8_character(std::string_view& text) {
    size_t length = utf8_character_length(text);
    if (length == 0) {
        text.remove_prefix(1);
        return kReplacementCharacter;
    }
    auto first = static_cast<uint8_t>(text[0]);
    char32_t character = length == 1 ? first : first & (0x7F >> length);
    for (size_t i = 1; i < length; ++i) character = character << 6 | (static_cast<uint8_t>(text[i]) & 0x3F);
    text.remove_prefix(length);
    return character;
}

void append_utf8(std::string& text, char32_t character) {
    if (character < 0x80) {
        text += static_cast<char>(character);
    } else if (character < 0x800) {
        text += static_cast<char>(0xC0 | (character >> 6));
        text += static_cast<char>(0x80 | (character & 0x3F));
    } else if (character < 0x10000) {
        text += static_cast<char>(0xE0 | (character >> 12));
        text += static_cast<char>(0x80 | ((character >> 6) & 0x3F));
        text += static_cast<char>(0x80 | (character & 0x3F));
    } else {
        text += static_cast<char>(0xF0 | (character >> 18));
        text += static_cast<char>(0x80 | ((character >> 12) & 0x3F));
        text += static_cast<char>(0x80 | ((character >> 6) & 0x3F));
        text += static_cast<char>(0x80 | (character & 0x3F));
    }
}

std::string to_valid_utf8(std::string_view text) {
    if (std::ranges::all_of(text, [](char c) { return static_cast<uint8_t>(c) < 0x80; }))
        return std::string(text);
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        size_t length = utf8_character_length(text);
        out += length > 0 ? text.substr(0, length) : kReplacement;
        text.remove_prefix(length > 0 ? length : 1);
    }
    return out;
}

namespace {

// How many bytes at the start of valid UTF-8 are a control character. Beside those of ASCII and of Latin-1
// there are some that show text in another order than it has (U+061C, U+200E, U+200F, U+202A to U+202E,
// U+2066 to U+2069) or on another line (U+2028, U+2029).
size_t control_length(std::string_view text) {
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
    if (byte(0) < 0x20 || byte(0) == 0x7F) return 1;
    if (byte(0) == 0xC2 && byte(1) < 0xA0) return 2;
    if (byte(0) == 0xD8 && byte(1) == 0x9C) return 2;
    const bool reorders = (byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F)) ||
                          (byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE) ||
                          (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);
    return byte(0) == 0xE2 && reorders ? 3 : 0;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string valid = to_valid_utf8(text);
    std::string out;
    out.reserve(valid.size());
    for (size_t i = 0; i < valid.size();) {
        const size_t control = control_length(std::string_view(valid).substr(i));
        out += valid[i] == '\t' ? ' ' : control > 0 ? '?' : valid[i];
        i += std::max<size_t>(1, control);
    }
    return out;
}

std::string printable_json(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    while (!json.empty()) {
        const size_t control = json[0] == '\n' ? 0 : control_length(json);
        if (control == 0) {
            out += json[0];
            json.remove_prefix(1);
        } else {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                           static_cast<uint32_t>(take_utf8_character(json)));
        }
    }
    return out;
}

size_t columns_of(std::string_view text) {
    return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return !is_continuation(c); }));
}

std::string_view utf8_prefix(std::string_view text, size_t limit) {
    if (text.size() <= limit) return text;
    // A character has at most four bytes: in what is no UTF-8 the cut is where it falls.
    size_t end = limit;
    for (int back = 0; back < 3 && end > 0 && is_continuation(text[end]); ++back) --end;
    return text.substr(0, is_continuation(text[end]) ? limit : end);
}

}  // namespace belay::core
