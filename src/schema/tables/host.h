#pragma once

#include "schema/schema.h"

namespace belay::schema {

inline constexpr Column kHostColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when the row was sampled"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"cpu_count", ColumnType::kInteger, "", "logical CPUs online"},
    {"cpu_user_seconds_total", ColumnType::kReal, "s", "CPU time in user mode, niced included, guests once"},
    {"cpu_system_seconds_total", ColumnType::kReal, "s", "CPU time in the kernel"},
    {"cpu_idle_seconds_total", ColumnType::kReal, "s", "CPU time idle"},
    {"cpu_iowait_seconds_total", ColumnType::kReal, "s",
     "CPU time idle while I/O was outstanding; may decrease"},
    {"cpu_irq_seconds_total", ColumnType::kReal, "s", "CPU time in interrupts and softirqs"},
    {"cpu_steal_seconds_total", ColumnType::kReal, "s", "CPU time taken by the hypervisor"},
    {"load_1m", ColumnType::kReal, "", "load average over one minute"},
    {"threads_running", ColumnType::kInteger, "", "threads runnable now"},
    {"threads_blocked", ColumnType::kInteger, "", "threads in uninterruptible sleep now"},
    {"context_switches_total", ColumnType::kInteger, "", "context switches since boot"},
    {"interrupts_total", ColumnType::kInteger, "", "interrupts since boot"},
    {"forks_total", ColumnType::kInteger, "", "processes and threads created since boot"},
    {"memory_total_bytes", ColumnType::kInteger, "B", "usable memory"},
    {"memory_free_bytes", ColumnType::kInteger, "B", "memory not used at all"},
    {"memory_available_bytes", ColumnType::kInteger, "B",
     "memory that a new program could get without swapping"},
    {"memory_cached_bytes", ColumnType::kInteger, "B", "page cache, tmpfs included"},
    {"memory_buffers_bytes", ColumnType::kInteger, "B", "block device buffers"},
    {"memory_anonymous_bytes", ColumnType::kInteger, "B", "anonymous memory mapped by processes"},
    {"memory_shared_bytes", ColumnType::kInteger, "B", "shared memory and tmpfs"},
    {"memory_slab_bytes", ColumnType::kInteger, "B", "kernel data structures"},
    {"memory_dirty_bytes", ColumnType::kInteger, "B", "waiting to be written back"},
    {"swap_total_bytes", ColumnType::kInteger, "B", "swap space"},
    {"swap_free_bytes", ColumnType::kInteger, "B", "swap space not used"},
    {"page_faults_major_total", ColumnType::kInteger, "", "page faults that needed I/O"},
    {"oom_kills_total", ColumnType::kInteger, "", "processes killed for lack of memory"},
    {"compaction_stalls_total", ColumnType::kInteger, "", "times a process waited for memory compaction"},
    {"pressure_cpu_some_seconds_total", ColumnType::kReal, "s",
     "time in which some task waited for a CPU (PSI)"},
    {"pressure_memory_some_seconds_total", ColumnType::kReal, "s",
     "time in which some task waited for memory"},
    {"pressure_memory_full_seconds_total", ColumnType::kReal, "s",
     "time in which all tasks waited for memory"},
    {"pressure_io_some_seconds_total", ColumnType::kReal, "s", "time in which some task waited for I/O"},
    {"pressure_io_full_seconds_total", ColumnType::kReal, "s", "time in which all tasks waited for I/O"},
    {"collection_seconds", ColumnType::kReal, "s", "CPU time that Belay spent on all samples of this tick"},
};

inline constexpr Table kHost{"host", Cadence::kPeriodic, "CPU, memory and pressure of a node, from /proc",
                             kHostColumns};

}  // namespace belay::schema
