#pragma once

#include "schema/schema.h"

namespace belay::schema {

using enum ColumnType;
using enum Sampled;

inline constexpr Column kNumaNode[] = {
    {"time", kTimestamp, "", "when the row was sampled"},
    {"node", kText, "", "name of the node"},
    {"numa_node", kInteger, "", "number of the NUMA node"},
    {"has_cpus", kBoolean, "", "whether CPUs belong to it"},
    {"memory_of", kText, "",
     "cpu, or gpu where the driver says so (GH200); null where no CPUs belong to it and nobody says whose "
     "memory "
     "it is"},
    {"gpu_address", kText, "", "PCI address of the GPU whose memory it is"},
};

// Files are those of the node's directory below /sys/devices/system/node.
inline constexpr Quantity kNumaQuantities[] = {
    {"memory_total_bytes",
     kInteger,
     "B",
     "usable memory",
     {"memory_total_bytes", "B", "memory of the NUMA node", Fold::kHighest},
     {kState, "meminfo", "MemTotal"}},
    {"memory_free_bytes",
     kInteger,
     "B",
     "memory not used at all",
     {"memory_free_bytes", "B", "memory not used at all"},
     {kState, "meminfo", "MemFree"}},
    {"memory_file_bytes",
     kInteger,
     "B",
     "page cache, tmpfs included",
     {"memory_file_bytes", "B", "page cache"},
     {kState, "meminfo", "FilePages"}},
    {"memory_anonymous_bytes",
     kInteger,
     "B",
     "anonymous memory mapped by processes",
     {"memory_anonymous_bytes", "B", "anonymous memory"},
     {kState, "meminfo", "AnonPages"}},
    {"memory_shared_bytes", kInteger, "B", "shared memory and tmpfs", {}, {kState, "meminfo", "Shmem"}},
    {"memory_slab_bytes", kInteger, "B", "kernel data structures", {}, {kState, "meminfo", "Slab"}},
    {"memory_dirty_bytes", kInteger, "B", "waiting to be written back", {}, {kState, "meminfo", "Dirty"}},
    {"transparent_huge_bytes",
     kInteger,
     "B",
     "anonymous memory in transparent huge pages",
     {},
     {kState, "meminfo", "AnonHugePages"}},
    {"huge_pages_total_bytes", kInteger, "B",
     "reserved for huge pages of all sizes; read every tenth tick, and that value between"},
    {"huge_pages_free_bytes", kInteger, "B", "of these not used; likewise"},
    {"numa_hit_total",
     kInteger,
     "",
     "pages that were wanted here and found here; read every tenth tick, null between, as the next ones",
     {"numa_hits_in_span", "", "pages found where they were wanted", Fold::kIncrease},
     {kCounter, "numastat", "numa_hit"}},
    {"numa_miss_total",
     kInteger,
     "",
     "pages found here that were wanted on another node",
     {"numa_misses_in_span", "", "pages found here that were wanted elsewhere", Fold::kIncrease},
     {kCounter, "numastat", "numa_miss"}},
    {"numa_foreign_total",
     kInteger,
     "",
     "pages that were wanted here and found on another node",
     {"numa_foreign_in_span", "", "pages wanted here and found elsewhere", Fold::kIncrease},
     {kCounter, "numastat", "numa_foreign"}},
    {"local_node_total",
     kInteger,
     "",
     "pages found here by a process that ran here",
     {},
     {kCounter, "numastat", "local_node"}},
    {"other_node_total",
     kInteger,
     "",
     "pages found here by a process that ran on another node",
     {"other_node_in_span", "", "pages found here by processes elsewhere", Fold::kIncrease},
     {kCounter, "numastat", "other_node"}},
};

inline constexpr auto kNumaColumns = joined(columns_of(kNumaNode), columns_of(kNumaQuantities));

// The index of the first quantity's column.
inline constexpr size_t kFirstNumaQuantity = std::size(kNumaNode);

inline constexpr Table kNuma{"numa", Cadence::kPeriodic,
                             "memory of each NUMA node, also that of GPUs which is one (GH200)",
                             kNumaColumns};

}  // namespace belay::schema
