#include "procfs/stat.h"

#include "procfs/scan.h"

namespace belay::procfs {

namespace {

constexpr std::optional<int64_t> Stat::* kCpuFields[] = {&Stat::user,    &Stat::nice,   &Stat::system,
                                                         &Stat::idle,    &Stat::iowait, &Stat::irq,
                                                         &Stat::softirq, &Stat::steal};

}  // namespace

Stat parse_stat(std::string_view text) {
    Stat stat;
    std::string_view line;
    int64_t cpus = 0;
    bool is_behind_cpus = false;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        std::string_view name = words.next();
        if (name == "cpu") {
            for (auto field : kCpuFields) stat.*field = count(words.next());
        } else if (name.starts_with("cpu")) {
            ++cpus;
        } else if (!name.empty()) {
            is_behind_cpus = true;
            // The sum of the many that follow it.
            if (name == "intr") stat.interrupts = count(words.next());
        }
    }
    // The lines of the CPUs come first: only with a line behind them is it known that all are there.
    if (cpus > 0 && is_behind_cpus) stat.cpus_online = cpus;
    return stat;
}

}  // namespace belay::procfs
