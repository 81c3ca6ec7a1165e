// /proc/meminfo, in bytes. See proc_meminfo(5).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::procfs {

struct Meminfo {
    std::optional<int64_t> total, free, available, buffers, cached, anonymous, shared, slab, dirty,
        swap_total, swap_free;
};

Meminfo parse_meminfo(std::string_view text);

}  // namespace belay::procfs
