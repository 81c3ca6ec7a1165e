// /proc/loadavg: how many threads were runnable or in uninterruptible sleep, averaged.
#pragma once

#include <optional>
#include <string_view>

namespace belay::procfs {

// The average over the last minute.
std::optional<double> parse_loadavg(std::string_view text);

}  // namespace belay::procfs
