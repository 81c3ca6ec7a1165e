// Names from metadata, which anybody may have written: of jobs, clusters and nodes.
#pragma once

#include "core/utf8.h"

#include <string>
#include <string_view>

namespace belay::record {

// Bytes; Slurm's accounting keeps no more of a job's name (TINYTEXT), and DNS has no longer names of hosts.
inline constexpr size_t kLongestName = 255;

inline std::string short_name(std::string_view name) {
    return std::string(core::utf8_prefix(name, kLongestName));
}

}  // namespace belay::record
