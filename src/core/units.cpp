#include "core/units.h"

#include "core/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace belay::core {

namespace {

__extension__ typedef unsigned __int128 Wide;

struct Unit {
    std::string_view name;
    uint64_t factor;
};

// Each from the largest to the smallest.
constexpr std::array kDurationUnits{
    Unit{"d", 86'400'000'000'000},
    Unit{"h", 3'600'000'000'000},
    Unit{"m", 60'000'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"ms", 1'000'000},
    Unit{"us", 1'000},
    Unit{"ns", 1},
};
constexpr uint64_t kExa = 1'000'000'000'000'000'000;
constexpr std::array kDecimalSizes{
    Unit{"EB", kExa},
    Unit{"PB", kExa / 1'000},
    Unit{"TB", 1'000'000'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"MB", 1'000'000},
    Unit{"kB", 1'000},
    Unit{"B", 1},
};
constexpr std::array kBinarySizes{
    Unit{"EiB", uint64_t{1} << 60},
    Unit{"PiB", uint64_t{1} << 50},
    Unit{"TiB", uint64_t{1} << 40},
    Unit{"GiB", uint64_t{1} << 30},
    Unit{"MiB", uint64_t{1} << 20},
    Unit{"KiB", uint64_t{1} << 10},
    Unit{"B", 1},
};
constexpr std::array kBits{
    Unit{"Tbit", 1'000'000'000'000},
    Unit{"Gbit", 1'000'000'000},
    Unit{"Mbit", 1'000'000},
    Unit{"kbit", 1'000},
    Unit{"bit", 1},
};
constexpr std::string_view kDurationHint =
    "a duration is written like 500ms, 2s, 5m, 1h30m; units are d h m s ms us ns";
constexpr std::string_view kSizeHint =
    "units are B, kB MB GB TB PB EB (powers of 1000) and KiB MiB GiB TiB PiB EiB (powers of 1024)";
constexpr std::string_view kBandwidthHint =
    "units are B/s, kB/s MB/s GB/s TB/s, KiB/s MiB/s GiB/s TiB/s and bit/s kbit/s Mbit/s Gbit/s Tbit/s";

// A decimal number exactly as written: digits / 10^decimals.
struct Decimal {
    Wide digits = 0;
    int decimals = 0;
};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Takes "12" or "12.5" off the front of `text`; nothing if there is none or it has more than 20 digits.
std::optional<Decimal> take_number(std::string_view& text) {
    Decimal number;
    int digits = 0;
    bool fraction = false;
    size_t at = 0;
    for (; at < text.size(); ++at) {
        if (text[at] == '.' && !fraction && digits > 0) {
            fraction = true;
            continue;
        }
        if (!is_digit(text[at])) break;
        if (++digits > 20) return std::nullopt;
        number.digits = number.digits * 10 + static_cast<Wide>(text[at] - '0');
        number.decimals += fraction ? 1 : 0;
    }
    if (digits == 0 || !is_digit(text[at - 1])) return std::nullopt;
    text.remove_prefix(at);
    return number;
}

// number * factor, rounded to the nearest; nothing if it does not fit. 10^20 * 2^61 is below 2^128.
std::optional<uint64_t> scale(Decimal number, uint64_t factor, uint64_t limit) {
    Wide divisor = 1;
    for (int i = 0; i < number.decimals; ++i) divisor *= 10;
    Wide value = (number.digits * factor + divisor / 2) / divisor;
    if (value > limit) return std::nullopt;
    return static_cast<uint64_t>(value);
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
    for (const Unit& unit : units)
        if (unit.name == name) return &unit;
    return nullptr;
}

// The whole of `text` as a number and the factor of its unit.
struct Quantity {
    Decimal number;
    std::string_view unit;
};
Result<Quantity> split_quantity(std::string_view text, std::string_view what, std::string_view hint) {
    std::string_view rest = trim(text);
    std::optional<Decimal> number = take_number(rest);
    if (!number) return bad_input("\"{}\" is not a {}", text, what).hint(hint);
    rest = trim(rest);
    if (rest.empty()) return bad_input("\"{}\" has no unit", text).hint(hint);
    return Quantity{*number, rest};
}

// "1.5" with as many decimals as are exact.
std::string exact_decimal(uint64_t value, uint64_t factor) {
    std::string out = fmt::format("{}", value / factor);
    uint64_t rest = value % factor;
    if (rest == 0) return out;
    out += '.';
    for (; rest != 0; rest %= factor) {
        rest *= 10;
        out += static_cast<char>('0' + rest / factor);
    }
    return out;
}

// In the largest unit of which it is a whole multiple.
struct Multiple {
    uint64_t count;
    std::string_view unit;
    std::string text() const { return fmt::format("{}{}", count, unit); }
};
Multiple exact_multiple(uint64_t value, std::span<const Unit> units) {
    for (const Unit& unit : units)
        if (value % unit.factor == 0 && value != 0) return {value / unit.factor, unit.name};
    return {value, units.back().name};
}
const Multiple& smaller(const Multiple& a, const Multiple& b) {
    return b.count < a.count ? b : a;
}

// Three significant digits; what would round to 1000 moves to the next unit.
std::string three_digits(double value, std::span<const Unit> units) {
    if (!std::isfinite(value)) return "unknown";
    const Unit* unit = &units.back();
    for (size_t i = units.size(); i-- > 0;) {
        if (std::abs(value) >= static_cast<double>(units[i].factor)) unit = &units[i];
        if (std::abs(value) / static_cast<double>(units[i].factor) < 999.5) break;
        if (i > 0) unit = &units[i - 1];
    }
    double scaled = value / static_cast<double>(unit->factor);
    if (unit->factor == 1 && scaled == std::floor(scaled))
        return fmt::format("{:.0f} {}", scaled, unit->name);
    double magnitude = std::abs(scaled);
    int decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", scaled, decimals, unit->name);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
    constexpr uint64_t kLimit = std::numeric_limits<int64_t>::max();
    std::string_view rest = trim(text);
    uint64_t total = 0;
    const Unit* last = nullptr;
    do {
        std::optional<Decimal> number = take_number(rest);
        if (!number) return bad_input("\"{}\" is not a duration", text).hint(kDurationHint);
        rest = trim(rest);
        size_t end = static_cast<size_t>(
            std::find_if(rest.begin(), rest.end(), [](char c) { return is_digit(c) || c == ' '; }) -
            rest.begin());
        std::string_view name = rest.substr(0, end);
        if (name.empty()) return bad_input("duration \"{}\" has no unit", text).hint(kDurationHint);
        const Unit* unit = find_unit(kDurationUnits, name);
        if (unit == nullptr)
            return bad_input("duration \"{}\": unknown unit \"{}\"", text, name).hint(kDurationHint);
        if (last != nullptr && unit->factor >= last->factor)
            return bad_input("duration \"{}\": {} after {}", text, unit->name, last->name)
                .hint("write the longest unit first, each once, as in 1h30m");
        std::optional<uint64_t> part = scale(*number, unit->factor, kLimit);
        if (!part || *part > kLimit - total)
            return bad_input("duration \"{}\" is longer than 292 years", text);
        total += *part;
        last = unit;
        rest = trim(rest.substr(end));
    } while (!rest.empty());
    return Duration(static_cast<int64_t>(total));
}

std::string to_text(Duration duration) {
    bool negative = duration.count() < 0;
    uint64_t left = negative ? uint64_t{0} - static_cast<uint64_t>(duration.count())
                             : static_cast<uint64_t>(duration.count());
    std::string out = negative ? "-" : "";
    size_t sign = out.size();
    for (const Unit& unit : kDurationUnits) {
        if (left < unit.factor) continue;
        if (unit.factor <= kDurationUnits[3].factor) {  // seconds or less: the rest, with decimals
            out += exact_decimal(left, unit.factor);
            out += unit.name;
            return out;
        }
        // Rests below a second are written in seconds after a longer unit: 1m0.5s.
        out += fmt::format("{}{}", left / unit.factor, unit.name);
        left %= unit.factor;
        if (left != 0 && left < kDurationUnits[3].factor)
            return out + exact_decimal(left, kDurationUnits[3].factor) + "s";
    }
    return out.size() == sign ? "0s" : out;
}

std::string format_duration(Duration duration) {
    constexpr std::array kSeconds{Unit{"s", 1'000'000'000}, Unit{"ms", 1'000'000}, Unit{"us", 1'000},
                                  Unit{"ns", 1}};
    if (duration.count() < 0) return "-" + format_duration(Duration(std::abs(duration.count() + 1)));
    if (duration.count() == 0) return "0 s";
    if (duration < std::chrono::milliseconds(59'950))
        return three_digits(static_cast<double>(duration.count()), kSeconds);
    int64_t seconds =
        duration.count() / 1'000'000'000 + (duration.count() % 1'000'000'000 >= 500'000'000 ? 1 : 0);
    if (seconds < 3'600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
    int64_t minutes = (seconds + 30) / 60;
    if (minutes < 1'440) return fmt::format("{}h{:02}m", minutes / 60, minutes % 60);
    int64_t hours = (minutes + 30) / 60;
    return fmt::format("{}d{:02}h", hours / 24, hours % 24);
}

Result<ByteSize> parse_size(std::string_view text) {
    BELAY_TRY(quantity, split_quantity(text, "size", kSizeHint));
    std::string_view name =
        quantity.unit == "KB" ? "kB" : quantity.unit;  // K of 1000, as on every disk's box
    const Unit* unit = find_unit(kDecimalSizes, name);
    if (unit == nullptr) unit = find_unit(kBinarySizes, name);
    if (unit == nullptr)
        return bad_input("size \"{}\": unknown unit \"{}\"", text, quantity.unit).hint(kSizeHint);
    auto bytes = scale(quantity.number, unit->factor, std::numeric_limits<uint64_t>::max());
    if (!bytes) return bad_input("size \"{}\" is larger than 2^64 bytes", text);
    return ByteSize{*bytes};
}

std::string to_text(ByteSize size) {
    return smaller(exact_multiple(size.bytes, kDecimalSizes), exact_multiple(size.bytes, kBinarySizes))
        .text();
}

std::string format_decimal(ByteSize size) {
    return three_digits(static_cast<double>(size.bytes), kDecimalSizes);
}

std::string format_binary(ByteSize size) {
    // Below 1024 of a unit but above 999 the next unit is taken, so that there are never four digits.
    return three_digits(static_cast<double>(size.bytes), kBinarySizes);
}

Result<Bandwidth> parse_bandwidth(std::string_view text) {
    BELAY_TRY(quantity, split_quantity(text, "bandwidth", kBandwidthHint));
    std::string_view name = quantity.unit;
    if (!name.ends_with("/s"))
        return bad_input("bandwidth \"{}\": unknown unit \"{}\"", text, name).hint(kBandwidthHint);
    name.remove_suffix(2);
    constexpr uint64_t kLimit = std::numeric_limits<uint64_t>::max();
    std::optional<uint64_t> bits;
    if (const Unit* unit = find_unit(kBits, name)) {
        bits = scale(quantity.number, unit->factor, kLimit);
    } else {
        unit = find_unit(kDecimalSizes, name);
        if (unit == nullptr) unit = find_unit(kBinarySizes, name);
        if (unit == nullptr || unit->factor > kLimit / 8)
            return bad_input("bandwidth \"{}\": unknown unit \"{}\"", text, quantity.unit)
                .hint(kBandwidthHint);
        bits = scale(quantity.number, unit->factor * 8, kLimit);
    }
    if (!bits) return bad_input("bandwidth \"{}\" is larger than 2^64 bit/s", text);
    return Bandwidth{*bits};
}

std::string to_text(Bandwidth bandwidth) {
    Multiple bits = exact_multiple(bandwidth.bits_per_second, kBits);
    if (bandwidth.bits_per_second % 8 != 0) return bits.text() + "/s";
    uint64_t bytes = bandwidth.bits_per_second / 8;
    Multiple in_bytes = smaller(exact_multiple(bytes, kDecimalSizes), exact_multiple(bytes, kBinarySizes));
    return smaller(in_bytes, bits).text() + "/s";
}

std::string format_bytes_per_second(double bytes_per_second) {
    return three_digits(bytes_per_second, kDecimalSizes) + "/s";
}

std::string format_bits_per_second(double bits_per_second) {
    return three_digits(bits_per_second, kBits) + "/s";
}

}  // namespace belay::core
