// The files of cgroup version 2, as Documentation/admin-guide/cgroup-v2.rst of Linux describes them.
#include "observe/cgroup/file_texts.h"
#include "observe/cgroup/readings.h"
#include "observe/collect/units.h"
#include "procfs/keyed.h"
#include "procfs/pressure.h"
#include "procfs/scan.h"

#include <iterator>

namespace belay::observe::cgroup {

namespace {

using collect::kMicroseconds;
using collect::seconds_of;

void take_cpu_stat(Text text, Readings& readings) {
    const auto values = keyed_counts(text, {{"usage_usec"},
                                            {"user_usec"},
                                            {"system_usec"},
                                            {"nr_periods"},
                                            {"nr_throttled"},
                                            {"throttled_usec"}});
    readings.cpu_seconds = seconds_of(values[0], kMicroseconds);
    readings.cpu_user_seconds = seconds_of(values[1], kMicroseconds);
    readings.cpu_system_seconds = seconds_of(values[2], kMicroseconds);
    readings.cpu_periods = values[3];
    readings.cpu_throttled_periods = values[4];
    readings.cpu_throttled_seconds = seconds_of(values[5], kMicroseconds);
}

void take_memory_current(Text text, Readings& readings) {
    readings.memory_bytes = only_count(text);
}
void take_memory_peak(Text text, Readings& readings) {
    readings.memory_peak_bytes = only_count(text);
}
void take_memory_max(Text text, Readings& readings) {
    readings.memory_limit_bytes = only_count(text);
}

void take_memory_stat(Text text, Readings& readings) {
    const auto values = keyed_counts(text, {{"anon"}, {"file"}, {"shmem"}});
    readings.memory_anonymous_bytes = values[0];
    readings.memory_file_bytes = values[1];
    readings.memory_shared_bytes = values[2];
}

void take_memory_events(Text text, Readings& readings) {
    const auto values = keyed_counts(text, {{"high"}, {"max"}, {"oom"}, {"oom_kill"}});
    readings.memory_high_events = values[0];
    readings.memory_max_events = values[1];
    readings.memory_oom_events = values[2];
    readings.oom_kills = values[3];
}

// Linux 5.15 and 5.16 do not end the line of a device without I/O: "8:0 8:16 rbytes=1 ...", or "8:0 " at the
// end (block/blk-cgroup.c, mended by "blk-cgroup: always terminate io.stat lines").
bool is_whole_io_stat(std::string_view text) {
    const std::string_view last = text.substr(text.rfind('\n') + 1);
    return last.empty() || (last.ends_with(' ') && last.find('=') == last.npos);
}

// "MAJOR:MINOR rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6" a device; nothing at all before the first
// I/O.
void take_io_stat(Text text, Readings& readings) {
    struct Wanted {
        std::string_view key;
        std::optional<int64_t> Readings::* reading;
        Sum sum = {};
    } wanted[] = {{"rbytes=", &Readings::io_read_bytes},
                  {"wbytes=", &Readings::io_written_bytes},
                  {"rios=", &Readings::io_reads},
                  {"wios=", &Readings::io_writes}};
    const bool is_readable = text && is_whole_io_stat(*text);
    std::string_view line;
    for (procfs::Lines lines(is_readable ? *text : ""); lines.next(line);) {
        procfs::Words words(line);
        for (std::string_view word = words.next(); !word.empty(); word = words.next())
            for (Wanted& one : wanted)
                if (word.starts_with(one.key)) one.sum.add(procfs::count(word.substr(one.key.size())));
    }
    for (const Wanted& one : wanted) readings.*one.reading = is_readable ? one.sum.value() : std::nullopt;
}

template <std::optional<double> Readings::* kSome, std::optional<double> Readings::* kFull>
void take_pressure(Text text, Readings& readings) {
    const procfs::Pressure pressure = procfs::parse_pressure(text.value_or(""));
    readings.*kSome = seconds_of(pressure.some, kMicroseconds);
    readings.*kFull = seconds_of(pressure.full, kMicroseconds);
}

constexpr File kUnifiedFiles[] = {
    {"cpu.stat", take_cpu_stat},
    {"cpu.pressure", take_pressure<&Readings::pressure_cpu_some, &Readings::pressure_cpu_full>},
    {"memory.current", take_memory_current},
    {"memory.peak", take_memory_peak},
    {"memory.max", take_memory_max, {}, {}, true},
    {"memory.stat", take_memory_stat},
    {"memory.events", take_memory_events},
    {"memory.pressure", take_pressure<&Readings::pressure_memory_some, &Readings::pressure_memory_full>},
    {"io.stat", take_io_stat},
    {"io.pressure", take_pressure<&Readings::pressure_io_some, &Readings::pressure_io_full>},
    {"cpuset.cpus.effective", take_cpuset, {}, {}, true},
    {kProcesses, take_processes},
};

}  // namespace

std::span<const File> unified_files() {
    return kUnifiedFiles;
}

}  // namespace belay::observe::cgroup
