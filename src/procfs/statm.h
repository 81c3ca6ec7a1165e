// /proc/PID/statm: memory of a process, in pages. See proc_pid_statm(5).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::procfs {

// Pages in RAM that belong to no file and no shared memory: resident less shared. Exact to some pages for
// each CPU, since the kernel sums them up now and then.
std::optional<int64_t> parse_anonymous_pages(std::string_view text);

}  // namespace belay::procfs
