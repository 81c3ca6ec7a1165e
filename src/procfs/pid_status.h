// /proc/PID/status: how often a process left a CPU. See proc_pid_status(5).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::procfs {

// Of the main thread, since it started.
struct PidStatus {
    std::optional<int64_t> voluntary_switches, involuntary_switches;
};

PidStatus parse_pid_status(std::string_view text);

}  // namespace belay::procfs
