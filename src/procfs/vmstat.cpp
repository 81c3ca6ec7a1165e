#include "procfs/vmstat.h"

#include "procfs/scan.h"

namespace belay::procfs {

namespace {

struct Entry {
    std::string_view name;
    std::optional<int64_t> Vmstat::* field;
};

constexpr Entry kEntries[] = {
    {"pgmajfault", &Vmstat::page_faults_major},
    {"oom_kill", &Vmstat::oom_kills},
    {"compact_stall", &Vmstat::compaction_stalls},
};

}  // namespace

Vmstat parse_vmstat(std::string_view text) {
    Vmstat vmstat;
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        std::string_view name = words.next();
        for (const Entry& entry : kEntries)
            if (entry.name == name) vmstat.*entry.field = count(words.next());
    }
    return vmstat;
}

}  // namespace belay::procfs
