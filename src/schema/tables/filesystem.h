#pragma once

#include "schema/schema.h"

namespace belay::schema {

using enum ColumnType;
using enum Sampled;

// What there is, and the space on it.
inline constexpr Column kFilesystemSpace[] = {
    {"time", kTimestamp, "", "when the row was sampled"},
    {"node", kText, "", "name of the node"},
    {"kind", kText, "", "mount or disk"},
    {"name", kText, "", "mount point, or name of the block device"},
    {"type", kText, "", "type of the file system; null for a disk"},
    {"source", kText, "", "what is mounted: a device, an export; null for a disk"},
    {"responsive", kBoolean, "", "whether the file system answered in time; null for a disk"},
    {"read_only", kBoolean, "", "whether it is mounted read-only; null for a disk"},
    {"size_bytes", kInteger, "B", "size of the file system"},
    {"free_bytes", kInteger, "B", "free for root"},
    {"available_bytes", kInteger, "B", "free for an ordinary user"},
    {"inodes_total", kInteger, "", "inodes; null where the file system has no fixed number"},
    {"inodes_free", kInteger, "", "inodes free"},
};

// What is measured on a disk, and what is kept of it. Fields are numbered as in the kernel's
// Documentation/admin-guide/iostats.rst; it counts bytes in sectors and times in milliseconds.
inline constexpr Quantity kDiskQuantities[] = {
    {"read_bytes_total",
     kInteger,
     "B",
     "bytes read from the disk since boot",
     {"read_bytes_per_second", "B/s", "read"},
     {kCounter, "diskstats", "", 3}},
    {"written_bytes_total",
     kInteger,
     "B",
     "bytes written to the disk since boot",
     {"written_bytes_per_second", "B/s", "written"},
     {kCounter, "diskstats", "", 7}},
    {"reads_total",
     kInteger,
     "",
     "read requests completed",
     {"reads_per_second", "1/s", "read requests"},
     {kCounter, "diskstats", "", 1}},
    {"writes_total",
     kInteger,
     "",
     "write requests completed",
     {"writes_per_second", "1/s", "write requests"},
     {kCounter, "diskstats", "", 5}},
    {"read_seconds_total",
     kReal,
     "s",
     "time spent in read requests, summed over requests",
     {},
     {kCounter, "diskstats", "", 4}},
    {"write_seconds_total",
     kReal,
     "s",
     "time spent in write requests, summed over requests",
     {},
     {kCounter, "diskstats", "", 8}},
    {"busy_seconds_total",
     kReal,
     "s",
     "time in which the disk had requests outstanding",
     {"busy_share", "ratio", "time with requests outstanding"},
     {kCounter, "diskstats", "", 10}},
    {"requests_in_flight", kInteger, "", "requests outstanding now", {}, {kState, "diskstats", "", 9}},
};

inline constexpr auto kFilesystemColumns = joined(columns_of(kFilesystemSpace), columns_of(kDiskQuantities));

// The index of the first quantity's column.
inline constexpr size_t kFirstDiskQuantity = std::size(kFilesystemSpace);

inline constexpr Table kFilesystem{"filesystem", Cadence::kPeriodic,
                                   "space on each mounted file system and traffic of each disk",
                                   kFilesystemColumns};

// SQL: whether the bytes of a row are a disk's own: devices that stand on others (device mapper, RAID, loop)
// would count them twice.
inline constexpr std::string_view kOwnDisk =
    "kind = 'disk' AND NOT regexp_matches(name, '^(dm-|md|loop|zram|ram|sr|fd)[0-9]')";

}  // namespace belay::schema
