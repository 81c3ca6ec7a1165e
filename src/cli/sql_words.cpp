#include "cli/sql_words.h"

#include <algorithm>

namespace belay::cli {

namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Of names without quotes; DuckDB takes every byte of UTF-8 beyond ASCII for a letter.
bool is_part_of_name(char c) {
    const char small = lower(c);
    return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

bool has_word(std::string_view sql, std::string_view word) {
    if (word.empty()) return false;
    auto same = [](char a, char b) { return lower(a) == lower(b); };
    for (auto rest = sql;;) {
        const auto found = std::ranges::search(rest, word, same);
        if (found.empty()) return false;
        const bool begins = found.begin() == sql.begin() || !is_part_of_name(*std::prev(found.begin()));
        const bool ends = found.end() == sql.end() || !is_part_of_name(*found.end());
        if (begins && ends) return true;
        rest = std::string_view(std::next(found.begin()), sql.end());
    }
}

}  // namespace belay::cli
