// Short texts of /sys: numbers of sensors, names, and Cray's counters with their units.
//
// As in procfs/, a text without its newline may be cut, and is nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::observe::hardware {

// "-12000\n": a number alone on its line, also a negative one (Documentation/hwmon/sysfs-interface.rst).
std::optional<int64_t> parse_sensor_number(std::string_view text);

// The first line, without blanks around it, as valid UTF-8; "" for none. Of a longer one the first 128 bytes.
std::string parse_name(std::string_view text);

enum class PmUnit : uint8_t { kJoules, kWatts, kCelsius };

// A file of /sys/cray/pm_counters: "123456 J\n", with " 1700000000000000 us" behind it since version 2.
struct PmCounter {
    int64_t value = 0;
    PmUnit unit = PmUnit::kJoules;
    bool operator==(const PmCounter&) const = default;
};
std::optional<PmCounter> parse_pm_counter(std::string_view text);

// `freshness`, `startup` and `raw_scan_hz`, which have no unit: the first word of the line.
std::optional<int64_t> parse_pm_number(std::string_view text);

// N of "nvmeN" or "nodeN", where `prefix` is "nvme" or "node"; nothing for other names.
std::optional<int64_t> number_behind(std::string_view name, std::string_view prefix);

}  // namespace belay::observe::hardware
