#include "procfs/pid_io.h"

#include "procfs/scan.h"

namespace belay::procfs {

namespace {

struct Entry {
    std::string_view name;
    std::optional<int64_t> PidIo::* field;
};

constexpr Entry kEntries[] = {
    {"rchar:", &PidIo::read_characters},
    {"wchar:", &PidIo::written_characters},
    {"read_bytes:", &PidIo::read_bytes},
    {"write_bytes:", &PidIo::written_bytes},
};

}  // namespace

PidIo parse_pid_io(std::string_view text) {
    PidIo io;
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        std::string_view name = words.next();
        for (const Entry& entry : kEntries)
            if (entry.name == name) io.*entry.field = count(words.next());
    }
    return io;
}

}  // namespace belay::procfs
