#pragma once

#include "schema/schema.h"

namespace belay::schema {

using enum ColumnType;
using enum Sampled;

// Which file system a row is of.
inline constexpr Column kIoDevice[] = {
    {"time", kTimestamp, "", "when the row was sampled"},
    {"node", kText, "", "name of the node"},
    {"device", kText, "",
     "the file system as st_dev numbers it, such as 254:1; none: names that were not found anywhere; others: all beyond the first 30"},
    {"mount", kText, "", "where it is mounted; null where nothing on the node is mounted with that number"},
    {"type", kText, "", "type of the file system"},
    {"source", kText, "", "what is mounted: a device, an export"},
    {"start_time", kTimestamp, "", "when counting began: all counters were 0 then"},
    {"tier", kText, "", "what it is made for: memory, node (of the node itself), flash, disk, home; null where the site does not say"},
};

// What the traced programs of the job did there, since the first of them began (iotrace/README.md: what is seen and what is not).
inline constexpr Quantity kIoQuantities[] = {
    {"opens_total", kInteger, "", "files and directories opened", {"opens_per_second", "1/s", "opens"}, {kCounter}},
    {"opens_failed_total", kInteger, "", "opens that failed", {"opens_failed_per_second", "1/s", "opens that failed"}, {kCounter}},
    {"stats_total", kInteger, "", "looks at a name or a file: stat, access, readlink", {"stats_per_second", "1/s", "looks at names"}, {kCounter}},
    {"stats_failed_total", kInteger, "", "those that failed, mostly for names that are not there", {"stats_failed_per_second", "1/s", "looks at names that failed"}, {kCounter}},
    {"changes_total", kInteger, "", "names removed, renamed or made", {"changes_per_second", "1/s", "changes of names"}, {kCounter}},
    {"directory_entries_total", kInteger, "", "names listed", {"directory_entries_per_second", "1/s", "names listed"}, {kCounter}},
    {"metadata_calls_total", kInteger, "", "opens, closes, looks and changes, with those that failed", {"metadata_calls_per_second", "1/s", "metadata calls"}, {kCounter}},
    {"reads_total", kInteger, "", "reads", {"reads_per_second", "1/s", "reads"}, {kCounter}},
    {"random_reads_total", kInteger, "", "reads that did not begin where the last one of their descriptor ended", {"random_reads_per_second", "1/s", "random reads"}, {kCounter}},
    {"small_reads_total", kInteger, "", "reads of less than 64 KiB", {"small_reads_per_second", "1/s", "small reads"}, {kCounter}},
    {"small_random_reads_total", kInteger, "", "random reads of less than 64 KiB", {"small_random_reads_per_second", "1/s", "small random reads"}, {kCounter}},
    {"read_bytes_total", kInteger, "B", "bytes that reads returned", {"read_bytes_per_second", "B/s", "read"}, {kCounter}},
    {"writes_total", kInteger, "", "writes", {"writes_per_second", "1/s", "writes"}, {kCounter}},
    {"small_writes_total", kInteger, "", "writes of less than 64 KiB", {"small_writes_per_second", "1/s", "small writes"}, {kCounter}},
    {"written_bytes_total", kInteger, "B", "bytes written", {"written_bytes_per_second", "B/s", "written"}, {kCounter}},
    {"syncs_total", kInteger, "", "fsync and fdatasync", {"syncs_per_second", "1/s", "syncs"}, {kCounter}},
    {"maps_total", kInteger, "", "files mapped into memory", {"maps_per_second", "1/s", "files mapped"}, {kCounter}},
    {"mapped_bytes_total", kInteger, "B", "bytes of them; how many were read is not known", {}, {kCounter}},
    {"read_seconds_total", kReal, "s", "time in reads, of all threads, from a sample of them", {"read_seconds_per_second", "s/s", "in reads"}, {kCounter}},
    {"write_seconds_total", kReal, "s", "time in writes, likewise", {"write_seconds_per_second", "s/s", "in writes"}, {kCounter}},
    {"metadata_seconds_total", kReal, "s", "time in metadata calls, likewise", {"metadata_seconds_per_second", "s/s", "in metadata calls"}, {kCounter}},
    {"sync_seconds_total", kReal, "s", "time in syncs", {"sync_seconds_per_second", "s/s", "in syncs"}, {kCounter}},
};

inline constexpr auto kIoColumns = joined(columns_of(kIoDevice), columns_of(kIoQuantities));

inline constexpr Table kIo{"io", Cadence::kPeriodic, "what the programs of the job did on each file system, where their I/O is traced",
                           kIoColumns};

}  // namespace belay::schema
