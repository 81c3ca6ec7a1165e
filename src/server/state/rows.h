// Between the columns of a row and what they mean here: times as microseconds, empty texts as null, words as enumerations. Pure.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "core/utf8.h"
#include "database/value.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::server {

inline database::Value time_value(core::Time time) {
    return core::to_microseconds(time);
}
inline database::Value time_value(const std::optional<core::Time>& time) {
    return time ? time_value(*time) : database::Value();
}
inline std::optional<core::Time> optional_time_at(const database::Row& row, size_t column) {
    const auto microseconds = row.integer(column);
    if (!microseconds) return std::nullopt;
    return core::time_from_microseconds(*microseconds);
}
inline core::Time time_at(const database::Row& row, size_t column) {
    return optional_time_at(row, column).value_or(core::Time());
}

// Empty is not known, and so null.
inline database::Value text_value(const std::string& text) {
    return text.empty() ? database::Value() : database::Value(text);
}
inline std::string text_at(const database::Row& row, size_t column) {
    return row.text(column).value_or("");
}
inline database::Value truth_value(bool truth) {
    return int64_t{truth ? 1 : 0};
}

// How a value is written in the database and in JSON.
template <typename Enum>
struct Word {
    Enum value;
    std::string_view word;
};
template <typename Enum, size_t count>
constexpr std::string_view word_of(const std::array<Word<Enum>, count>& words, Enum value) {
    for (const Word<Enum>& row : words)
        if (row.value == value) return row.word;
    return {};
}
template <typename Enum, size_t count>
constexpr std::optional<Enum> value_of_word(const std::array<Word<Enum>, count>& words,
                                            std::string_view word) {
    for (const Word<Enum>& row : words)
        if (row.word == word) return row.value;
    return std::nullopt;
}
// Errors: kSystem for a word that a newer version has written.
template <typename Enum, size_t count>
core::Result<Enum> word_at(const std::array<Word<Enum>, count>& words, const database::Row& row,
                           size_t column) {
    const std::string word = text_at(row, column);
    if (const auto value = value_of_word(words, word)) return *value;
    return core::system_error("the database holds the word \"{}\", which this version does not know",
                              core::printable(word));
}

}  // namespace belay::server
