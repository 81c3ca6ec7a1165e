#pragma once

#include "schema/schema.h"

namespace belay::schema {

using enum ColumnType;
using enum Sampled;

inline constexpr Column kNvmeController[] = {
    {"time", kTimestamp, "", "when the row was written"},
    {"node", kText, "", "name of the node"},
    {"device", kText, "", "name of the controller: nvme0"},
    {"address", kText, "", "PCI address; null for a disk on the network"},
    {"model", kText, "", "model of the disk"},
    {"firmware", kText, "", "revision of its firmware"},
    {"transport", kText, "", "pcie, tcp, rdma, fc, loop"},
    {"state", kText, "", "live, or why it is not: new, resetting, connecting, deleting, dead"},
    {"numa_node", kInteger, "", "NUMA node that it is attached to"},
    {"queue_count", kInteger, "", "queues that the driver uses, that of commands to the controller included"},
};

// The SMART log of the controller: NVM Express Base Specification 2.0, figure "SMART / Health Information Log
// Page". Columns from critical_warning on are null in rows that only tell a change of state, and where the
// log may not be read. A value beyond 63 bits is null.
inline constexpr Quantity kNvmeQuantities[] = {
    {"resets_total",
     kInteger,
     "",
     "resets of the controller; null where the kernel does not count them",
     {},
     {kCounter}},
    {"command_errors_total",
     kInteger,
     "",
     "commands to the controller that failed; null likewise",
     {},
     {kCounter}},
    {"critical_warning", kInteger, "",
     "bits: 1 spare below its threshold, 2 temperature out of range, 4 reliability degraded, 8 read-only, 16 "
     "backup of volatile memory failed, 32 persistent memory region unreliable"},
    {"temperature_celsius", kReal, "°C", "composite temperature"},
    {"spare_ratio", kReal, "ratio", "spare capacity that is left"},
    {"spare_threshold_ratio", kReal, "ratio", "below which the first warning is given"},
    {"used_ratio", kReal, "ratio", "share of the rated life that is used; may go beyond 1, up to 2.55"},
    {"read_bytes_total",
     kInteger,
     "B",
     "bytes read over the life of the disk, in units of 512,000, rounded up",
     {},
     {kCounter}},
    {"written_bytes_total",
     kInteger,
     "B",
     "bytes written over the life of the disk, in units of 512,000, rounded up",
     {},
     {kCounter}},
    {"reads_total", kInteger, "", "read commands over the life of the disk", {}, {kCounter}},
    {"writes_total", kInteger, "", "write commands over the life of the disk", {}, {kCounter}},
    {"busy_seconds_total", kInteger, "s", "time with commands outstanding, in whole minutes", {}, {kCounter}},
    {"power_cycles_total", kInteger, "", "times it was switched on", {}, {kCounter}},
    {"power_on_seconds_total", kInteger, "s", "time it was on, in whole hours", {}, {kCounter}},
    {"unsafe_shutdowns_total", kInteger, "", "times it lost power unannounced", {}, {kCounter}},
    {"media_errors_total",
     kInteger,
     "",
     "data that were lost or damaged, as far as it noticed",
     {},
     {kCounter}},
    {"error_log_entries_total", kInteger, "", "entries of its error log", {}, {kCounter}},
    {"hot_seconds_total",
     kInteger,
     "s",
     "time above the temperature that it warns of, in whole minutes; saturates at 2^32",
     {},
     {kCounter}},
    {"critically_hot_seconds_total",
     kInteger,
     "s",
     "time above its critical temperature, in whole minutes; saturates at 2^32",
     {},
     {kCounter}},
    {"throttled_seconds_total",
     kInteger,
     "s",
     "time in which it was slower to become cooler; saturates at 2^33",
     {},
     {kCounter}},
};

inline constexpr auto kNvmeColumns = joined(columns_of(kNvmeController), columns_of(kNvmeQuantities));

inline constexpr Table kNvme{"nvme", Cadence::kEvents,
                             "health of each NVMe disk: every five minutes, and when its state changes",
                             kNvmeColumns};

}  // namespace belay::schema
