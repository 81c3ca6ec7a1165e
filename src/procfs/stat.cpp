#include "procfs/stat.h"

#include "procfs/scan.h"

namespace belay::procfs {

namespace {

constexpr std::optional<int64_t> Stat::* kCpuFields[] = {&Stat::user,    &Stat::nice,   &Stat::system,
                                                         &Stat::idle,    &Stat::iowait, &Stat::irq,
                                                         &Stat::softirq, &Stat::steal};

struct Entry {
    std::string_view name;
    std::optional<int64_t> Stat::* field;
};

// Lines "NAME NUMBER ...", of which the first number counts: that of "intr" is the sum of the many behind it.
constexpr Entry kEntries[] = {
    {"ctxt", &Stat::context_switches},
    {"intr", &Stat::interrupts},
    {"processes", &Stat::forks},
    {"procs_running", &Stat::threads_running},
    {"procs_blocked", &Stat::threads_blocked},
    {"btime", &Stat::boot_seconds},
};

}  // namespace

Stat parse_stat(std::string_view text) {
    Stat stat;
    std::string_view line;
    int64_t cpus = 0;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        std::string_view name = words.next();
        if (name == "cpu") {
            for (auto field : kCpuFields) stat.*field = count(words.next());
        } else if (name.starts_with("cpu")) {
            ++cpus;
        } else {
            for (const Entry& entry : kEntries)
                if (entry.name == name) stat.*entry.field = count(words.next());
        }
    }
    // The lines of the CPUs come first: only with a line behind them is it known that all are there.
    if (cpus > 0 && (stat.interrupts || stat.context_switches)) stat.cpus_online = cpus;
    return stat;
}

}  // namespace belay::procfs
