#include "procfs/pid_status.h"

#include "procfs/scan.h"

namespace belay::procfs {

namespace {

struct Entry {
    std::string_view name;
    std::optional<int64_t> PidStatus::* field;
};

constexpr Entry kEntries[] = {
    {"voluntary_ctxt_switches:", &PidStatus::voluntary_switches},
    {"nonvoluntary_ctxt_switches:", &PidStatus::involuntary_switches},
};

}  // namespace

PidStatus parse_pid_status(std::string_view text) {
    PidStatus status;
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        std::string_view name = words.next();
        for (const Entry& entry : kEntries)
            if (entry.name == name) status.*entry.field = count(words.next());
    }
    return status;
}

}  // namespace belay::procfs
