// /proc/pressure/{cpu,memory,io} (PSI): time in which tasks were held up. Absent where the kernel has it
// switched off.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::procfs {

// Microseconds since boot. `full` of cpu is absent before Linux 5.13 and meaningless after it.
struct Pressure {
    std::optional<int64_t> some, full;
};

Pressure parse_pressure(std::string_view text);

}  // namespace belay::procfs
