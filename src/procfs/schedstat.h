// /proc/PID/schedstat: what the scheduler did with a process's main thread. See
// Documentation/scheduler/sched-stats.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::procfs {

// Nanoseconds in which it was runnable but waited for a CPU.
std::optional<int64_t> parse_run_delay(std::string_view text);

}  // namespace belay::procfs
