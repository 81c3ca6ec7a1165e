#include "core/text.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::core {

namespace {

// Optimal string alignment distance, three rows of the usual table.
size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({substitution, last[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

}  // namespace

std::string_view trim(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::vector<std::string_view> split_words(std::string_view text) {
    std::vector<std::string_view> words;
    for (size_t at = text.find_first_not_of(" \t"); at != std::string_view::npos;
         at = text.find_first_not_of(" \t", at)) {
        size_t end = text.find_first_of(" \t", at);
        if (end == std::string_view::npos) end = text.size();
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
    std::string out;
    for (const std::string& part : parts) {
        if (&part != parts.data()) out += separator;
        out += part;
    }
    return out;
}

std::string format_count(uint64_t count, std::string_view singular, std::string_view plural) {
    if (count == 1) return fmt::format("1 {}", singular);
    return plural.empty() ? fmt::format("{} {}s", count, singular) : fmt::format("{} {}", count, plural);
}

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates) {
    std::optional<std::string_view> best;
    size_t best_distance = 0;
    for (std::string_view candidate : candidates) {
        size_t longer = std::max(word.size(), candidate.size()),
               shorter = std::min(word.size(), candidate.size());
        size_t allowed = std::max<size_t>(longer / 3, 1);
        if (longer - shorter > allowed) continue;  // at least as far apart as that
        size_t distance = edit_distance(word, candidate);
        if (distance > allowed || (best && distance >= best_distance)) continue;
        best = candidate;
        best_distance = distance;
    }
    return best;
}

}  // namespace belay::core
