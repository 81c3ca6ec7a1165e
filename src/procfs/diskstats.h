// /proc/diskstats: traffic of the block devices. See Documentation/admin-guide/iostats.rst of Linux.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace belay::procfs {

// Counts since boot; milliseconds may wrap at 2^32. `name` points into the parsed text.
struct Disk {
    std::string_view name;
    std::optional<int64_t> reads, read_bytes, read_milliseconds;
    std::optional<int64_t> writes, written_bytes, write_milliseconds;
    std::optional<int64_t> in_flight, busy_milliseconds;
};

// Whole disks: the kernel lists each before its partitions, which are left out, as are loop, ram and zram
// devices that were never used and empty drives. Replaces the content of `disks`, whose capacity is kept.
void parse_diskstats(std::string_view text, std::vector<Disk>& disks);

// Whether `name` is a partition of `disk`: sda1 of sda, nvme0n1p1 of nvme0n1.
bool is_partition_of(std::string_view name, std::string_view disk);

}  // namespace belay::procfs
