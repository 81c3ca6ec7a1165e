// /proc/PID/task/TID/children: the processes that a thread has started and not yet reaped. See
// proc_tid_children(5).
#pragma once

#include <string_view>
#include <sys/types.h>
#include <vector>

namespace belay::procfs {

std::vector<pid_t> parse_children(std::string_view text);

}  // namespace belay::procfs
