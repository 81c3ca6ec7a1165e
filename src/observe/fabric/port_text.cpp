#include "observe/fabric/port_text.h"

#include "core/text.h"
#include "procfs/scan.h"

#include <algorithm>

namespace belay::observe::fabric {

namespace {

constexpr size_t kLongestName = 64;
constexpr size_t kNanosecondDigits = 9;
constexpr int64_t kTenthOfGigabit = 100'000'000;

// "" where the text has no complete line.
std::string_view first_line(std::string_view text) {
    std::string_view line;
    procfs::Lines(text).next(line);
    return line;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// What stands before the first `separator`, which is taken off with it; all of it where there is none.
std::string_view take_until(std::string_view& rest, char separator) {
    const size_t end = rest.find(separator);
    const std::string_view piece = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return piece;
}

bool is_time(std::string_view text) {
    const std::string_view seconds = take_until(text, '.');
    return procfs::count(seconds).has_value() && text.size() <= kNanosecondDigits &&
           std::ranges::all_of(text, is_digit);
}

}  // namespace

std::optional<int64_t> parse_counter(std::string_view text) {
    return procfs::count(first_line(text));
}

std::optional<int64_t> parse_telemetry(std::string_view text) {
    std::string_view rest = first_line(text);
    const bool has_time = rest.find('@') != std::string_view::npos;
    const std::string_view number = take_until(rest, '@');
    if (has_time && !is_time(rest)) return std::nullopt;
    return procfs::count(number);
}

std::string_view parse_numbered_name(std::string_view text) {
    std::string_view rest = parse_name(text);
    if (rest.find(':') == std::string_view::npos || !procfs::count(take_until(rest, ':'))) return {};
    return core::trim(rest);
}

std::optional<int64_t> parse_rate(std::string_view text) {
    procfs::Words words(first_line(text));
    std::string_view fraction = words.next();
    const std::string_view whole = take_until(fraction, '.');
    if (words.next() != "Gb/sec" || fraction.size() > 1) return std::nullopt;
    const std::optional<int64_t> tenths = fraction.empty() ? 0 : procfs::count(fraction);
    const std::optional<int64_t> rate = procfs::scaled(procfs::count(whole), 10 * kTenthOfGigabit);
    int64_t sum = 0;
    if (!tenths || !rate || __builtin_add_overflow(*rate, *tenths * kTenthOfGigabit, &sum) || sum == 0)
        return std::nullopt;
    return sum;
}

std::string_view parse_name(std::string_view text) {
    const std::string_view line = core::trim(first_line(text));
    const bool is_printable = std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
    return is_printable && line.size() <= kLongestName ? line : std::string_view();
}

std::string_view parse_link_word(std::string_view text) {
    const std::string_view word = core::trim(text);
    const bool is_word = std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
    return is_word && word.size() <= kLongestName ? word : std::string_view();
}

}  // namespace belay::observe::fabric
