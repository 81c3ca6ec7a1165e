// What one cgroup tells, and which of its files tells it. Both are data: a new quantity is a line of a table
// of files and a field here.
#pragma once

#include "observe/cgroup/slurm_path.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace belay::observe::cgroup {

// In base units; nothing for what the kernel does not tell.
struct Readings {
    std::optional<double> cpu_seconds, cpu_user_seconds, cpu_system_seconds;
    std::optional<int64_t> cpu_periods, cpu_throttled_periods;
    std::optional<double> cpu_throttled_seconds;
    std::optional<int64_t> memory_bytes, memory_peak_bytes, memory_limit_bytes;
    std::optional<int64_t> memory_anonymous_bytes, memory_file_bytes, memory_shared_bytes;
    std::optional<int64_t> memory_high_events, memory_max_events, memory_oom_events, oom_kills;
    std::optional<int64_t> io_read_bytes, io_written_bytes, io_reads, io_writes;
    std::optional<double> pressure_cpu_some, pressure_cpu_full, pressure_memory_some, pressure_memory_full,
        pressure_io_some, pressure_io_full;  // seconds
    std::optional<int64_t> processes;        // in this very cgroup, none beneath it
    std::optional<int64_t> cpus;
    std::optional<std::string> cpuset;
};

// A file of a cgroup. Its parser is a function of the text alone: of any text it takes what the kernel would
// mean by it, and nothing of the rest. What it stands for and cannot be taken is nothing afterwards, whatever
// was there before.
struct File {
    std::string_view name;
    // Nothing: the file could not be read.
    void (*take)(std::optional<std::string_view> text, Readings& readings);
    std::string_view controller = {};  // version 1: in whose hierarchy it is; empty: in each
    std::string_view fallback = {};    // its name where the first one is not there
    bool is_seldom_changed = false;
};

// The list of the processes in a cgroup, which each cgroup of either version has; it is the last of its
// files.
inline constexpr std::string_view kProcesses = "cgroup.procs";

std::span<const File> unified_files();
std::span<const File> legacy_files();
inline std::span<const File> files_of(Version version) {
    return version == Version::kUnified ? unified_files() : legacy_files();
}

}  // namespace belay::observe::cgroup
