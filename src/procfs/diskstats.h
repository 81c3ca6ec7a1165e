// /proc/diskstats: traffic of the block devices. See Documentation/admin-guide/iostats.rst of Linux.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace belay::procfs {

inline constexpr size_t kDiskFields = 17;  // of Linux 5.5; older ones have 11 or 15

// The fields of Documentation/admin-guide/iostats.rst, of which the first is at 0, in the file's units:
// sectors of 512 bytes, and milliseconds, which may wrap at 2^32. `name` points into the parsed text.
struct Disk {
    std::string_view name;
    std::array<std::optional<int64_t>, kDiskFields> fields;
};

// Whole disks: the kernel lists each before its partitions, which are left out, as are loop, ram and zram
// devices that were never used and empty drives. Replaces the content of `disks`, whose capacity is kept.
void parse_diskstats(std::string_view text, std::vector<Disk>& disks);

// Whether `name` is a partition of `disk`: sda1 of sda, nvme0n1p1 of nvme0n1.
bool is_partition_of(std::string_view name, std::string_view disk);

}  // namespace belay::procfs
