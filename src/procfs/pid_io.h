// /proc/PID/io: what a process and its ended threads read and wrote. Readable by the same user (and root)
// only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::procfs {

// Bytes. Characters went through read(2), write(2) and their kin, whether from a cache, a pipe or a device;
// the others moved from and to storage. What was written to storage counts when the page was dirtied.
struct PidIo {
    std::optional<int64_t> read_characters, written_characters, read_bytes, written_bytes;
};

PidIo parse_pid_io(std::string_view text);

}  // namespace belay::procfs
