// Files of lines "key value": /proc/vmstat, and /proc/meminfo with its "key: value kB".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace belay::procfs {

struct Keyed {
    std::string_view key;  // without its colon
    // The file gives kB, and bytes are made of them. What it gives in another unit than was asked for is
    // nothing.
    bool in_kibibytes = false;
};

// values[i] is that of wanted[i]; nothing where the file has none. Both are of one length.
void parse_keyed(std::string_view text, std::span<const Keyed> wanted,
                 std::span<std::optional<int64_t>> values);

}  // namespace belay::procfs
