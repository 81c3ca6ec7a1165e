// The SMART log of an NVMe controller, log page 02h: 512 bytes, little-endian. See "SMART / Health
// Information Log Page" in the NVM Express Base Specification 2.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace belay::observe::hardware {

inline constexpr size_t kSmartLogBytes = 512;

// In the units of the table nvme. What the disk does not report, or is beyond 63 bits, is nothing.
struct SmartLog {
    int64_t critical_warning = 0;
    std::optional<double> celsius;
    std::optional<double> spare_ratio, spare_threshold_ratio;
    double used_ratio = 0;
    std::optional<int64_t> read_bytes, written_bytes, reads, writes;
    std::optional<int64_t> busy_seconds, power_cycles, power_on_seconds, unsafe_shutdowns;
    std::optional<int64_t> media_errors, error_log_entries;
    int64_t hot_seconds = 0, critically_hot_seconds = 0, throttled_seconds = 0;
};

// Nothing for a page of another size, and for one of equal bytes: disks of clouds report zeros, and a device
// that is gone reads as ones.
std::optional<SmartLog> parse_smart_log(std::string_view page);

// Fills the page from a controller such as /dev/nvme0; 0, or the errno of what failed. Makes
// async-signal-safe calls only.
using ReadSmartLog = std::function<int(const char* device, std::span<char, kSmartLogBytes> page)>;
int read_smart_log_page(const char* device, std::span<char, kSmartLogBytes> page);

}  // namespace belay::observe::hardware
