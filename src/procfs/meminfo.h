// How much memory a node has, of /proc/meminfo, in bytes. See proc_meminfo(5).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::procfs {

struct Meminfo {
    std::optional<int64_t> total;
    std::optional<int64_t> available;  // since Linux 3.14
};

Meminfo parse_meminfo(std::string_view text);

}  // namespace belay::procfs
