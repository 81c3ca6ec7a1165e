// /proc/vmstat: events of the memory management since boot.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::procfs {

struct Vmstat {
    std::optional<int64_t> page_faults_major;
    std::optional<int64_t> oom_kills;          // since Linux 4.13
    std::optional<int64_t> compaction_stalls;  // where compaction is configured
};

Vmstat parse_vmstat(std::string_view text);

}  // namespace belay::procfs
