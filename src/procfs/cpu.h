// The CPUs of a node: files of /sys/devices/system/cpu and /proc/cpuinfo. See
// Documentation/admin-guide/cputopology.rst and Documentation/ABI/testing/sysfs-devices-system-cpu of Linux.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::procfs {

// A file that lists CPUs, such as `online`: "0-3,8,10-11", ascending; nothing if it is not such a list.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);

// The bytes of a cache, from its file `size`: "32768K".
std::optional<int64_t> parse_cache_size(std::string_view text);

// Clocks in MHz by CPU, from /proc/cpuinfo; none on architectures that do not tell.
std::vector<std::pair<int, double>> parse_cpuinfo_clocks(std::string_view text);

}  // namespace belay::procfs
