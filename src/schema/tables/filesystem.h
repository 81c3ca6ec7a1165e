#pragma once

#include "schema/schema.h"

namespace belay::schema {

inline constexpr Column kFilesystemColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when the row was sampled"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"kind", ColumnType::kText, "", "mount or disk"},
    {"name", ColumnType::kText, "", "mount point, or name of the block device"},
    {"type", ColumnType::kText, "", "type of the file system; null for a disk"},
    {"source", ColumnType::kText, "", "what is mounted: a device, an export; null for a disk"},
    {"responsive", ColumnType::kBoolean, "", "whether the file system answered in time; null for a disk"},
    {"read_only", ColumnType::kBoolean, "", "whether it is mounted read-only; null for a disk"},
    {"size_bytes", ColumnType::kInteger, "B", "size of the file system"},
    {"free_bytes", ColumnType::kInteger, "B", "free for root"},
    {"available_bytes", ColumnType::kInteger, "B", "free for an ordinary user"},
    {"inodes_total", ColumnType::kInteger, "", "inodes; null where the file system has no fixed number"},
    {"inodes_free", ColumnType::kInteger, "", "inodes free"},
    {"read_bytes_total", ColumnType::kInteger, "B", "bytes read from the disk since boot"},
    {"written_bytes_total", ColumnType::kInteger, "B", "bytes written to the disk since boot"},
    {"reads_total", ColumnType::kInteger, "", "read requests completed"},
    {"writes_total", ColumnType::kInteger, "", "write requests completed"},
    {"read_seconds_total", ColumnType::kReal, "s", "time spent in read requests, summed over requests"},
    {"write_seconds_total", ColumnType::kReal, "s", "time spent in write requests, summed over requests"},
    {"busy_seconds_total", ColumnType::kReal, "s", "time in which the disk had requests outstanding"},
    {"requests_in_flight", ColumnType::kInteger, "", "requests outstanding now"},
};

inline constexpr Table kFilesystem{"filesystem", Cadence::kPeriodic,
                                   "space on each mounted file system and traffic of each disk",
                                   kFilesystemColumns};

// SQL: whether the bytes of a row are a disk's own: devices that stand on others (device mapper, RAID, loop)
// would count them twice.
inline constexpr std::string_view kOwnDisk =
    "kind = 'disk' AND NOT regexp_matches(name, '^(dm-|md|loop|zram|ram|sr|fd)[0-9]')";

}  // namespace belay::schema
