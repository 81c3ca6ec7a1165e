#include "procfs/diskstats.h"

#include "procfs/scan.h"

#include <algorithm>

namespace belay::procfs {

namespace {

constexpr size_t kReads = 0;  // places of fields
constexpr size_t kWrites = 4;
constexpr std::string_view kUsuallyIdle[] = {"loop", "ram", "zram", "fd", "sr"};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool never_used(const Disk& disk) {
    if (disk.fields[kReads] != 0 || disk.fields[kWrites] != 0) return false;
    return std::ranges::any_of(kUsuallyIdle, [&](std::string_view kind) {
        return disk.name.starts_with(kind) && disk.name.size() > kind.size() &&
               std::ranges::all_of(disk.name.substr(kind.size()), is_digit);
    });
}

}  // namespace

bool is_partition_of(std::string_view name, std::string_view disk) {
    if (disk.empty() || !name.starts_with(disk)) return false;
    std::string_view number = name.substr(disk.size());
    if (is_digit(disk.back())) {
        if (!number.starts_with('p')) return false;
        number.remove_prefix(1);
    }
    return !number.empty() && std::ranges::all_of(number, is_digit);
}

void parse_diskstats(std::string_view text, std::vector<Disk>& disks) {
    disks.clear();
    std::string_view line;
    std::string_view whole_disk;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        words.skip(2);  // device numbers
        Disk disk;
        disk.name = words.next();
        if (disk.name.empty() || is_partition_of(disk.name, whole_disk)) continue;
        whole_disk = disk.name;
        for (auto& field : disk.fields) field = count(words.next());
        if (!never_used(disk)) disks.push_back(disk);
    }
}

}  // namespace belay::procfs
