// Small text helpers that several modules need.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::core {

std::string_view trim(std::string_view text);
// Of ASCII's letters only, whatever the locale.
std::string lower_case(std::string_view text);
// "a,b,,c" -> {"a","b","","c"}; an empty text gives one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);
// Pieces between runs of blanks and tabs; none for an empty text.
std::vector<std::string_view> split_words(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
// "1 node", "2 nodes". `plural` is for words that do not just take an s.
std::string format_count(uint64_t count, std::string_view singular, std::string_view plural = {});

// The candidate a person most likely meant: smallest edit distance (insertions, deletions, substitutions and
// swapped neighbours), at most a third of the longer word; nothing if none is that near.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates);

// The whole text as a number, or nothing. No sign for unsigned types, no blanks, no trailing characters.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace belay::core
