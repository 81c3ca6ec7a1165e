#include "findings/value_text.h"

#include "core/text.h"
#include "core/units.h"

#include <cmath>

namespace belay::findings {

namespace {

constexpr double kMostSeconds = 9e9;    // of a Duration in nanoseconds
constexpr double kLeastSeconds = 1e-6;  // less comes from rounding

std::string number_text(double value, std::string_view unit) {
    if (std::isnan(value)) return "unknown";
    if (unit == "ratio" && std::abs(value) < 0.1)
        return fmt::format("{:.1f} %", std::round(value * 1000) / 10 + 0.0);  // -0 + 0 is 0
    if (unit == "ratio") return fmt::format("{:.0f} %", value * 100);
    if (unit == "s" && std::abs(value) < kLeastSeconds) value = 0;
    if (unit == "s" && std::abs(value) < kMostSeconds)
        return core::format_duration(core::Duration(static_cast<int64_t>(value * 1e9)));
    if (unit == "B" && value >= 0 && value < 1e18)
        return core::format_binary(core::ByteSize{static_cast<uint64_t>(value)});
    if (unit == "B/s") return core::format_bytes_per_second(value);
    if (unit == "bit/s") return core::format_bits_per_second(value);
    if (unit == "Hz") return fmt::format("{:.0f} MHz", value / 1e6);
    const bool is_whole = std::abs(value) < 1e15 && (value == std::round(value) || std::abs(value) >= 1000);
    std::string number = is_whole ? fmt::format("{:.0f}", value + 0.0) : fmt::format("{:.3g}", value);
    // What it is the rate of says "per second" itself.
    return unit.empty() || unit == "1/s" ? number : fmt::format("{} {}", number, unit);
}

}  // namespace

std::string value_text(const record::Value& value, std::string_view unit) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
    if (const auto* time = std::get_if<core::Time>(&value)) return core::format_time(*time);
    return number_text(record::as_double(value), unit);
}

std::vector<std::string_view> quoted_lines(const record::Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || !text->contains('\n')) return {};
    return core::split(*text, '\n');
}

}  // namespace belay::findings
