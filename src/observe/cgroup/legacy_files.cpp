// The files of cgroup version 1, as Documentation/admin-guide/cgroup-v1/ of Linux describes them. Each is in
// the hierarchy of its controller, and there are none about pressure.
#include "observe/cgroup/file_texts.h"
#include "observe/cgroup/readings.h"
#include "observe/collect/units.h"
#include "procfs/keyed.h"
#include "procfs/scan.h"

#include <iterator>
#include <unistd.h>

namespace belay::observe::cgroup {

namespace {

using collect::kNanoseconds;
using collect::seconds_of;

// Without a limit it is the highest number of whole pages: 2^63 less a page of 4 to 64 KiB, or 2^63 - 1
// before Linux 3.19 (mm/memcontrol.c, PAGE_COUNTER_MAX).
constexpr int64_t kUnlimited = INT64_MAX - (int64_t{1} << 20);

void take_cpu_usage(Text text, Readings& readings) {
    readings.cpu_seconds = seconds_of(only_count(text), kNanoseconds);
}

void take_cpuacct_stat(Text text, Readings& readings) {
    static const int64_t ticks_per_second = sysconf(_SC_CLK_TCK);
    const auto values = keyed_counts(text, {{"user"}, {"system"}});
    readings.cpu_user_seconds = seconds_of(values[0], ticks_per_second);
    readings.cpu_system_seconds = seconds_of(values[1], ticks_per_second);
}

void take_throttling(Text text, Readings& readings) {
    const auto values = keyed_counts(text, {{"nr_periods"}, {"nr_throttled"}, {"throttled_time"}});
    readings.cpu_periods = values[0];
    readings.cpu_throttled_periods = values[1];
    readings.cpu_throttled_seconds = seconds_of(values[2], kNanoseconds);
}

void take_memory_usage(Text text, Readings& readings) {
    readings.memory_bytes = only_count(text);
}
void take_memory_highest(Text text, Readings& readings) {
    readings.memory_peak_bytes = only_count(text);
}
void take_memory_failures(Text text, Readings& readings) {
    readings.memory_max_events = only_count(text);
}

void take_memory_limit(Text text, Readings& readings) {
    readings.memory_limit_bytes = only_count(text);
    if (readings.memory_limit_bytes > kUnlimited) readings.memory_limit_bytes.reset();
}

// Those named total_ hold what is beneath it, as all values of version 2 do. "cache" is what version 2 calls
// "file".
void take_hierarchical_memory(Text text, Readings& readings) {
    const auto values = keyed_counts(text, {{"total_rss"}, {"total_cache"}, {"total_shmem"}});
    readings.memory_anonymous_bytes = values[0];
    readings.memory_file_bytes = values[1];
    readings.memory_shared_bytes = values[2];
}

// Its line oom_kill is there since Linux 4.13.
void take_oom_control(Text text, Readings& readings) {
    const auto kills = keyed_counts(text, {{"oom_kill"}});
    readings.oom_kills = kills[0];
}

// "MAJOR:MINOR Read 1" and lines of Write, Sync, Async, Discard and Total a device; at the end "Total 2".
template <std::optional<int64_t> Readings::* kRead, std::optional<int64_t> Readings::* kWritten>
void take_throttled_io(Text text, Readings& readings) {
    Sum read, written;
    const bool is_readable = text && !text->empty() && is_whole(*text);
    std::string_view line;
    for (procfs::Lines lines(is_readable ? *text : ""); lines.next(line);) {
        procfs::Words words(line);
        words.skip(1);
        const std::string_view operation = words.next();
        if (operation == "Read") read.add(procfs::count(words.next()));
        if (operation == "Write") written.add(procfs::count(words.next()));
    }
    readings.*kRead = is_readable ? read.value() : std::nullopt;
    readings.*kWritten = is_readable ? written.value() : std::nullopt;
}

// What blkio counts beneath a cgroup too is in files of their own, which not every kernel has.
constexpr File kLegacyFiles[] = {
    {"cpuacct.usage", take_cpu_usage, "cpuacct"},
    {"cpuacct.stat", take_cpuacct_stat, "cpuacct"},
    {"cpu.stat", take_throttling, "cpu"},
    {"memory.usage_in_bytes", take_memory_usage, "memory"},
    {"memory.max_usage_in_bytes", take_memory_highest, "memory"},
    {"memory.limit_in_bytes", take_memory_limit, "memory", {}, true},
    {"memory.stat", take_hierarchical_memory, "memory"},
    {"memory.failcnt", take_memory_failures, "memory"},
    {"memory.oom_control", take_oom_control, "memory"},
    {"blkio.throttle.io_service_bytes_recursive",
     take_throttled_io<&Readings::io_read_bytes, &Readings::io_written_bytes>, "blkio",
     "blkio.throttle.io_service_bytes"},
    {"blkio.throttle.io_serviced_recursive", take_throttled_io<&Readings::io_reads, &Readings::io_writes>,
     "blkio", "blkio.throttle.io_serviced"},
    {"cpuset.effective_cpus", take_cpuset, "cpuset", "cpuset.cpus", true},
    {kProcesses, take_processes},
};

}  // namespace

std::span<const File> legacy_files() {
    return kLegacyFiles;
}

}  // namespace belay::observe::cgroup
