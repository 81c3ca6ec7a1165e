#include "metrics/number_text.h"

#include "core/text.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

namespace belay::metrics {

namespace {

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int64_t kNanosecondsPerMillisecond = 1'000'000;
constexpr size_t kDecimals = 9;

// The shortest digits, without or with an exponent.
std::string shortest(double value, std::chars_format format) {
    char buffer[400];  // 2^1023 has 309 digits, the smallest number 324 decimals
    auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, format);
    return error == std::errc() ? std::string(buffer, end) : std::string();
}

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e';
    });
}

}  // namespace

std::string number_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    return fmt::format("{}", value);
}

std::optional<double> parse_number_text(std::string_view text) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "+Inf") return kInfinity;
    if (text == "-Inf") return -kInfinity;
    if (!is_number(text)) return std::nullopt;  // from_chars knows "inf" and "nan" too
    auto value = core::parse_number<double>(text);
    return value && number_text(*value) == text ? value : std::nullopt;
}

std::string bound_text(double bound) {
    if (!std::isfinite(bound)) return number_text(bound);
    std::string exponential = shortest(bound, std::chars_format::scientific);
    // %g changes over at an exponent below -4, and, of the shortest digits, at one of 6 and more.
    std::string_view behind_e = std::string_view(exponential).substr(exponential.find('e') + 1);
    if (behind_e.starts_with('+')) behind_e.remove_prefix(1);
    auto exponent = core::parse_number<int>(behind_e);
    if (!exponent || *exponent < -4 || *exponent >= 6) return exponential;
    std::string fixed = shortest(bound, std::chars_format::fixed);
    return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

std::optional<double> parse_bound_text(std::string_view text) {
    if (text == "+Inf") return std::numeric_limits<double>::infinity();
    if (!is_number(text)) return std::nullopt;
    auto value = core::parse_number<double>(text);
    return value && bound_text(*value) == text ? value : std::nullopt;
}

std::string seconds_text(core::Time time) {
    const int64_t nanoseconds = core::to_nanoseconds(time);
    const auto bits = static_cast<uint64_t>(nanoseconds);
    const uint64_t size = nanoseconds < 0 ? 0 - bits : bits;
    std::string text = fmt::format("{}{}", nanoseconds < 0 ? "-" : "", size / kNanosecondsPerSecond);
    if (size % kNanosecondsPerSecond == 0) return text;
    text += fmt::format(".{:09}", size % kNanosecondsPerSecond);
    text.erase(text.find_last_not_of('0') + 1);
    return text;
}

std::optional<core::Time> parse_seconds_text(std::string_view text) {
    const bool negative = text.starts_with('-');
    std::string_view digits = negative ? text.substr(1) : text;
    const size_t point = digits.find('.');
    auto seconds = core::parse_number<uint64_t>(digits.substr(0, point));
    std::string decimals(point == std::string_view::npos ? "" : digits.substr(point + 1));
    if (decimals.size() > kDecimals) return std::nullopt;
    decimals.append(kDecimals - decimals.size(), '0');
    auto fraction = core::parse_number<uint64_t>(decimals);
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    if (!seconds || !fraction || *seconds > kMost / kNanosecondsPerSecond) return std::nullopt;
    const uint64_t size = *seconds * kNanosecondsPerSecond + *fraction;
    if (size > kMost + (negative ? 1 : 0)) return std::nullopt;
    const core::Time time = core::time_from_nanoseconds(static_cast<int64_t>(negative ? 0 - size : size));
    return seconds_text(time) == text ? std::optional(time) : std::nullopt;
}

int64_t milliseconds_of(core::Time time) {
    return std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

std::optional<core::Time> time_of_milliseconds(int64_t milliseconds) {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / kNanosecondsPerMillisecond;
    if (milliseconds > kMost || milliseconds < -kMost) return std::nullopt;
    return core::time_from_nanoseconds(milliseconds * kNanosecondsPerMillisecond);
}

}  // namespace belay::metrics
