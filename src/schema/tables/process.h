#pragma once

#include "schema/schema.h"

namespace belay::schema {

inline constexpr Column kProcessColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when the row was sampled"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"pid", ColumnType::kInteger, "", "process id; with start_time it names one process"},
    {"parent_pid", ColumnType::kInteger, "", "process id of the parent"},
    {"start_time", ColumnType::kTimestamp, "", "when the process started, to one clock tick"},
    {"job_id", ColumnType::kInteger, "", "Slurm job that it belongs to; null outside Slurm"},
    {"step_id", ColumnType::kText, "", "step of the job, as in allocation; null in a batch script"},
    {"task", ColumnType::kInteger, "", "rank of the Slurm task that it belongs to; null outside Slurm"},
    {"command", ColumnType::kText, "", "name of the program, at most 15 bytes; never its arguments"},
    {"state", ColumnType::kText, "", "R running, S sleeping, D waiting for a device, Z ended, T stopped"},
    {"threads", ColumnType::kInteger, "", "threads"},
    {"processor", ColumnType::kInteger, "", "CPU on which it last ran"},
    {"cpu_user_seconds_total", ColumnType::kReal, "s", "CPU time in user mode"},
    {"cpu_system_seconds_total", ColumnType::kReal, "s", "CPU time in the kernel"},
    {"run_delay_seconds_total", ColumnType::kReal, "s",
     "time in which its main thread was runnable but waited for a CPU"},
    {"resident_bytes", ColumnType::kInteger, "B", "memory in RAM, shared pages included"},
    {"anonymous_bytes", ColumnType::kInteger, "B",
     "memory in RAM that is no page of a file and no shared memory"},
    {"virtual_bytes", ColumnType::kInteger, "B", "address space"},
    {"page_faults_major_total", ColumnType::kInteger, "", "page faults that needed I/O"},
    {"read_bytes_total", ColumnType::kInteger, "B", "bytes fetched from storage"},
    {"written_bytes_total", ColumnType::kInteger, "B", "bytes sent to storage"},
    {"read_characters_total", ColumnType::kInteger, "B",
     "bytes passed by read(2) and its kin, cache hits included"},
    {"written_characters_total", ColumnType::kInteger, "B", "bytes passed by write(2) and its kin"},
};

inline constexpr Table kProcess{"process", Cadence::kPeriodic, "the processes of jobs, Belay's own left out",
                                kProcessColumns, 2};

}  // namespace belay::schema
