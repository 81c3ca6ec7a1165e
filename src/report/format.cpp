#include "report/format.h"

#include "core/units.h"
#include "report/model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace belay::report {

namespace {

constexpr std::string_view kDash = "–";

// "1e-5" of "1e-05".
std::string short_exponent(std::string text) {
    const size_t at = text.find("e-0");
    return at == text.npos ? text : text.erase(at + 2, 1);
}

// Three significant digits.
std::string three_digits(double value) {
    double size = std::abs(value);
    if (size == 0) return "0";
    if (size < 0.9995) return short_exponent(fmt::format("{:.3g}", value));
    if (size < 9.995) return fmt::format("{:.2f}", value);
    if (size < 99.95) return fmt::format("{:.1f}", value);
    return size < 1e15 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

// "0.0 %" of "-0.0 %"
std::string without_sign_of_zero(std::string text) {
    const bool is_zero = text.starts_with('-') && text.find_first_of("123456789") == text.npos;
    return is_zero ? text.substr(1) : text;
}

// Of less than ten seconds, in the largest unit of which it is a tenth at least. What is less than the
// smallest comes from rounding.
std::string short_duration(double seconds) {
    struct Unit {
        double seconds;
        std::string_view name;
    };
    static constexpr std::array<Unit, 3> kUnits = {{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}};
    const double size = std::abs(seconds);
    constexpr double kTenth = 0.0995;  // rounds to it
    for (const Unit& unit : kUnits)
        if (size >= kTenth * unit.seconds) return fmt::format("{:.2g} {}", seconds / unit.seconds, unit.name);
    return "0 s";
}

// "1.98 GHz"
std::string decimal(double value, std::string_view unit) {
    static constexpr std::array<std::string_view, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
    size_t prefix = 0;
    for (constexpr double kNext = 999.5; prefix + 1 < kPrefixes.size() && std::abs(value) >= kNext; ++prefix)
        value /= 1000;
    return fmt::format("{} {}{}", three_digits(value), kPrefixes[prefix], unit);
}

}  // namespace

std::string format_quantity(double value, std::string_view unit) {
    if (is_missing(value)) return std::string(kDash);
    if (unit == "share") {
        double percent = value * 100;
        const int digits = percent != 0 && std::abs(percent) < 9.95 ? 1 : 0;
        return without_sign_of_zero(fmt::format("{:.{}f} %", percent, digits));
    }
    if (unit == "B") return core::format_binary({static_cast<uint64_t>(std::max(0.0, value))});
    if (unit == "B/s") return core::format_bytes_per_second(value);
    if (unit == "s") return format_duration(value);
    if (unit == "Hz" || unit == "Wh") return decimal(value, unit);
    if (unit.empty()) return three_digits(value);
    return fmt::format("{} {}", three_digits(value), unit);
}

std::string format_coverage(double share) {
    if (is_missing(share)) return std::string(kDash);
    return fmt::format("{:.1f} %", std::floor(share * 1000 + 1e-6) / 10);
}

std::string format_duration(double seconds) {
    if (is_missing(seconds)) return std::string(kDash);
    if (seconds <= -9.95) return "-" + format_duration(-seconds);
    if (seconds < 9.95) return short_duration(seconds);
    auto whole = static_cast<int64_t>(std::llround(seconds));
    auto parts = [whole](int64_t size, std::string_view name, int64_t small, std::string_view small_name) {
        int64_t rest = whole % size / small;
        std::string text = fmt::format("{} {}", whole / size, name);
        return rest == 0 ? text : fmt::format("{} {} {}", text, rest, small_name);
    };
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600) return parts(60, "min", 1, "s");
    return whole < 86400 ? parts(3600, "h", 60, "min") : parts(86400, "d", 3600, "h");
}

std::string format_elapsed(double seconds) {
    auto whole = static_cast<int64_t>(std::floor(std::max(0.0, seconds)));
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
}

std::string sparkline(std::span<const double> values, size_t width, double top) {
    static constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (values.empty() || width == 0) return {};
    size_t cells = std::min(width, values.size());
    std::vector<double> means(cells, kMissing);
    for (size_t cell = 0; cell < cells; ++cell) {
        double sum = 0;
        size_t count = 0;
        for (size_t i = cell * values.size() / cells; i < (cell + 1) * values.size() / cells; ++i) {
            if (is_missing(values[i])) continue;
            sum += values[i];
            ++count;
        }
        if (count > 0) means[cell] = sum / static_cast<double>(count);
    }
    if (!(top > 0))
        for (double mean : means)
            if (!is_missing(mean)) top = std::max(top, mean);
    std::string line;
    for (double mean : means) {
        if (is_missing(mean)) {
            line += ' ';
            continue;
        }
        double share = top > 0 ? std::clamp(mean / top, 0.0, 1.0) : 0.0;
        line += kBlocks[std::min<size_t>(7, static_cast<size_t>(share * 8))];
    }
    return line;
}

}  // namespace belay::report
