// UTF-8: the record's texts must be valid, while names of programs, mounts and what programs print may be any
// bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace belay::core {

// The text with every byte that is not part of well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates,
// at most U+10FFFF) replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// Bytes of the character at the start of `text`, which is not empty; 0 if what stands there is not
// well-formed.
size_t utf8_character_length(std::string_view text);

// The character at the start of `text`, which is not empty, taken off it; U+FFFD for a byte that is not part
// of one.
char32_t take_utf8_character(std::string_view& text);

// `character` is none of the surrogates and at most U+10FFFF.
void append_utf8(std::string& text, char32_t character);

// The longest prefix of at most `limit` bytes that does not end within a character.
std::string_view utf8_prefix(std::string_view text, size_t limit);

// The text as a terminal may be given it: valid UTF-8 of which no control character (C0, DEL, C1) is left, so
// that a quoted name can neither move the cursor nor forge another line. A tab becomes a blank, any other
// "?".
std::string printable(std::string_view text);

// JSON that is valid UTF-8, with an escape (\u and four digits) for each of those: it parses to the same
// value, and a terminal may be given it too. (Those of ASCII below U+0020 are escaped in every JSON.)
std::string printable_json(std::string_view json);

// Columns that valid UTF-8 takes on a terminal when every character is one wide.
size_t columns_of(std::string_view text);

}  // namespace belay::core
