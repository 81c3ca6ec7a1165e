#include "stream/cursor.h"

#include "core/text.h"
#include "core/utf8.h"
#include "stream/segment_format.h"

#include <array>

#include <fmt/format.h>

namespace belay::stream {

using core::bad_input;
using core::Result;

namespace {

constexpr std::string_view kVersion = "1";

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

std::string escaped(std::string_view name) {
    std::string text;
    for (char c : name)
        if (is_plain(c))
            text += c;
        else
            text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    return text;
}

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return std::nullopt;
}

std::optional<std::string> unescaped(std::string_view text) {
    std::string name;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            name += text[i];
            continue;
        }
        if (i + 2 >= text.size()) return std::nullopt;
        const auto high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
        if (!high || !low) return std::nullopt;
        name += static_cast<char>(*high * 16 + *low);
        i += 2;
    }
    return name;
}

core::Failure no_cursor(std::string_view text) {
    constexpr size_t kShown = 80;
    return bad_input("\"{}\" is not a valid cursor", core::printable(text.substr(0, kShown)));
}

}  // namespace

bool has_usable_names(const StreamId& stream) {
    for (const std::string* name : {&stream.cluster, &stream.node, &stream.boot, &stream.source})
        if (name->size() > kMaxStreamName) return false;
    return true;
}

std::string to_text(const Cursor& cursor) {
    const StreamId& stream = cursor.stream;
    return fmt::format("{}/{}/{}/{}/{}/{}/{}", kVersion, escaped(stream.cluster), escaped(stream.node),
                       escaped(stream.boot), escaped(stream.source), core::to_nanoseconds(stream.began),
                       cursor.next_block);
}

Result<Cursor> parse_cursor(std::string_view text) {
    constexpr size_t kParts = 7;
    constexpr size_t kLongest = 4 * 3 * kMaxStreamName + 64;
    if (text.size() > kLongest) return no_cursor(text);
    const auto parts = core::split(text, '/');
    if (parts.size() != kParts || parts[0] != kVersion) return no_cursor(text);
    std::array<std::string, 4> names;
    for (size_t i = 0; i < names.size(); ++i) {
        auto name = unescaped(parts[i + 1]);
        if (!name) return no_cursor(text);
        names[i] = std::move(*name);
    }
    const auto began = core::parse_number<int64_t>(parts[5]);
    const auto next = core::parse_number<uint64_t>(parts[6]);
    if (!began || !next || *next > 2 * kMaxBlockNumber) return no_cursor(text);
    Cursor cursor{.stream = {std::move(names[0]), std::move(names[1]), std::move(names[2]),
                             std::move(names[3]), core::time_from_nanoseconds(*began)},
                  .next_block = *next};
    if (!has_usable_names(cursor.stream) || to_text(cursor) != text) return no_cursor(text);
    return cursor;
}

}  // namespace belay::stream
