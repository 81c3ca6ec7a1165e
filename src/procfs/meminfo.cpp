#include "procfs/meminfo.h"

#include "procfs/scan.h"

namespace belay::procfs {

namespace {

struct Entry {
    std::string_view name;
    std::optional<int64_t> Meminfo::* field;
};

constexpr Entry kEntries[] = {
    {"MemTotal:", &Meminfo::total},
    {"MemFree:", &Meminfo::free},
    {"MemAvailable:", &Meminfo::available},
    {"Buffers:", &Meminfo::buffers},
    {"Cached:", &Meminfo::cached},
    {"AnonPages:", &Meminfo::anonymous},
    {"Shmem:", &Meminfo::shared},
    {"Slab:", &Meminfo::slab},
    {"Dirty:", &Meminfo::dirty},
    {"SwapTotal:", &Meminfo::swap_total},
    {"SwapFree:", &Meminfo::swap_free},
};

}  // namespace

Meminfo parse_meminfo(std::string_view text) {
    Meminfo meminfo;
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        std::string_view name = words.next();
        for (const Entry& entry : kEntries) {
            if (entry.name != name) continue;
            std::optional<int64_t> value = count(words.next());
            if (words.next() == "kB") meminfo.*entry.field = scaled(value, kKibibyte);
            break;
        }
    }
    return meminfo;
}

}  // namespace belay::procfs
