// /proc/stat: CPU time of all CPUs together, and interrupts since boot. See proc_stat(5). Its lines
// "key value" are read by keyed.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::procfs {

// CPU times are in clock ticks, sysconf(_SC_CLK_TCK) to a second. `user` and `nice` contain the time of
// guests, which the kernel repeats in two further fields that are not read here. Absent fields (old kernels)
// are nothing.
struct Stat {
    std::optional<int64_t> user, nice, system, idle, iowait, irq, softirq, steal;
    std::optional<int64_t> cpus_online;
    std::optional<int64_t> interrupts;
};

Stat parse_stat(std::string_view text);

}  // namespace belay::procfs
