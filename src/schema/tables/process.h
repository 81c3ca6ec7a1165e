#pragma once

#include "schema/schema.h"

namespace belay::schema {

using enum ColumnType;
using enum Sampled;

inline constexpr Column kProcessNames[] = {
    {"time", kTimestamp, "", "when the row was sampled"},
    {"node", kText, "", "name of the node"},
    {"pid", kInteger, "", "process id; with start_time it names one process"},
    {"parent_pid", kInteger, "", "process id of the parent"},
    {"start_time", kTimestamp, "", "when the process started, to one clock tick"},
    {"job_id", kInteger, "", "Slurm job that it belongs to; null outside Slurm"},
    {"step_id", kText, "", "step of the job, as in allocation; null in a batch script"},
    {"task", kInteger, "", "rank of the Slurm task that it belongs to; null outside Slurm"},
    {"command", kText, "", "name of the program, at most 15 bytes; never its arguments"},
};

// What is measured on a process, and what is kept of it. The files are those of /proc/PID; those with keys
// give bytes.
inline constexpr Quantity kProcessQuantities[] = {
    {"state",
     kText,
     "",
     "R running, S sleeping, D waiting for a device, Z ended, T stopped",
     {},
     {kState, "stat"}},
    {"threads", kInteger, "", "threads", {"threads", "", "threads", Fold::kHighest}, {kState, "stat"}},
    {"processor", kInteger, "", "CPU on which it last ran", {}, {kState, "stat"}},
    {"cpu_user_seconds_total", kReal, "s", "CPU time in user mode", {}, {kCounter, "stat"}},
    {"cpu_system_seconds_total", kReal, "s", "CPU time in the kernel", {}, {kCounter, "stat"}},
    {"cpu_children_unseen_seconds_total",
     kReal,
     "s",
     "CPU time of its children that ended, as far as no row of theirs has it: what they used after their "
     "last "
     "sample, all of it where they have none; of a process that was there before its recorder, since then",
     {},
     {kCounter, "stat"}},
    {"run_delay_seconds_total",
     kReal,
     "s",
     "time in which its main thread was runnable but waited for a CPU",
     {"run_delay_share", "ratio", "share of the time in which its main thread waited for a CPU"},
     {kCounter, "schedstat"}},
    {"resident_bytes",
     kInteger,
     "B",
     "memory in RAM, shared pages included",
     {"resident_bytes", "B", "memory in RAM"},
     {kState, "stat"}},
    {"anonymous_bytes",
     kInteger,
     "B",
     "memory in RAM that is neither backed by a file nor shared",
     {},
     {kState, "statm"}},
    {"virtual_bytes", kInteger, "B", "address space", {}, {kState, "stat"}},
    {"page_faults_major_total", kInteger, "", "page faults that needed I/O", {}, {kCounter, "stat"}},
    {"read_bytes_total",
     kInteger,
     "B",
     "bytes fetched from storage",
     {"read_bytes_per_second", "B/s", "fetched from storage"},
     {kCounter, "io", "read_bytes"}},
    {"written_bytes_total",
     kInteger,
     "B",
     "bytes sent to storage",
     {"written_bytes_per_second", "B/s", "sent to storage"},
     {kCounter, "io", "write_bytes"}},
    {"read_characters_total",
     kInteger,
     "B",
     "bytes passed by read(2) and its kin, cache hits included",
     {"read_characters_per_second", "B/s", "read(2), cache hits included"},
     {kCounter, "io", "rchar"}},
    {"read_calls_total",
     kInteger,
     "",
     "calls of read(2) and its kin, cache hits included",
     {"read_calls_per_second", "1/s", "calls of read(2), cache hits included"},
     {kCounter, "io", "syscr"}},
    {"written_characters_total",
     kInteger,
     "B",
     "bytes passed by write(2) and its kin",
     {"written_characters_per_second", "B/s", "write(2)"},
     {kCounter, "io", "wchar"}},
};

inline constexpr auto kProcessColumns = joined(columns_of(kProcessNames), columns_of(kProcessQuantities));

// The index of the first quantity's column.
inline constexpr size_t kFirstProcessQuantity = std::size(kProcessNames);

inline constexpr Table kProcess{"process", Cadence::kPeriodic, "the processes of jobs, Belay's own left out",
                                kProcessColumns, 3};

}  // namespace belay::schema
