// /proc/PID/stat: one process. See proc_pid_stat(5).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::procfs {

// Times are in clock ticks; start_ticks counts from boot. `command` points into the parsed text and is the
// program's name as the process set it: up to 15 bytes (64 for a kernel thread) of anything, also blanks,
// parentheses and newlines.
struct PidStat {
    int64_t pid = 0;
    int64_t parent_pid = 0;
    char state = '?';
    std::string_view command;
    int64_t start_ticks = 0;
    std::optional<bool> kernel_thread;
    std::optional<int64_t> page_faults_major, user_ticks, system_ticks, threads, virtual_bytes,
        resident_pages, processor;
    std::optional<int64_t> children_user_ticks, children_system_ticks;  // that ended and were waited for
};

// Nothing if the text is cut or lacks what tells one process from another: pid, parent, state and start.
std::optional<PidStat> parse_pid_stat(std::string_view text);

}  // namespace belay::procfs
