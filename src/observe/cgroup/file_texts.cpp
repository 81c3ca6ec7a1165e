#include "observe/cgroup/file_texts.h"

#include "procfs/cpu.h"
#include "procfs/scan.h"

namespace belay::observe::cgroup {

namespace {

constexpr size_t kLongestCpuset = 4096;  // bytes; every second one of 1024 CPUs is less

}  // namespace

std::optional<int64_t> only_count(Text text) {
    std::string_view line;
    if (!text || !procfs::Lines(*text).next(line)) return std::nullopt;
    return procfs::count(line);
}

void Sum::add(std::optional<int64_t> count) {
    int64_t sum = 0;
    if (!value_) return;
    if (!count || __builtin_add_overflow(*value_, *count, &sum))
        value_.reset();
    else
        value_ = sum;
}

// An id a line; 0 is a process of another namespace.
void take_processes(Text text, Readings& readings) {
    readings.processes.reset();
    if (!text || !is_whole(*text)) return;
    int64_t processes = 0;
    std::string_view line;
    for (procfs::Lines lines(*text); lines.next(line); ++processes)
        if (!procfs::count(line)) return;
    readings.processes = processes;
}

void take_cpuset(Text text, Readings& readings) {
    readings.cpus.reset();
    readings.cpuset.reset();
    std::string_view line;
    if (!text || text->size() > kLongestCpuset || !procfs::Lines(*text).next(line)) return;
    const auto cpus = procfs::parse_cpu_list(*text);
    if (!cpus || cpus->empty()) return;  // version 1 before anybody has said which
    readings.cpus = static_cast<int64_t>(cpus->size());
    readings.cpuset = line;
}

}  // namespace belay::observe::cgroup
