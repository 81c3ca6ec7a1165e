// /proc/uptime. See proc_uptime(5).
#pragma once

#include <optional>
#include <string_view>

namespace belay::procfs {

// Seconds since the node booted, time in suspend included.
std::optional<double> parse_uptime(std::string_view text);

}  // namespace belay::procfs
