// The files of one cgroup, read at every tick: they stay open as far as there is room, since opening one
// costs several times what reading it does.
//
// Not thread-safe. Once a cgroup was removed, reading its files fails with ENODEV, also through descriptors that are open.
#pragma once

#include "core/file.h"
#include "observe/cgroup/hierarchies.h"
#include "observe/cgroup/readings.h"

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace belay::observe::cgroup {

// How many cgroups may be followed, and how many of their files may be open.
struct Room {
    size_t cgroups = 0;
    size_t files = 0;
};

// Reads files whole into one buffer, which it keeps.
class TextReader {
  public:
    // Valid until the next read. Errors: errno; EFBIG for more than a megabyte. `is_list`: the kernel gives
    // it piece by piece, so that only an empty read is its end.
    std::expected<std::string_view, int> read(int fd, bool is_list);

  private:
    std::string buffer_;
};

// A cgroup's directory in one hierarchy.
struct Part {
    ino_t inode = 0;  // 0: it has none there
    nlink_t links = 0;
};

// Where a cgroup is.
struct Whereabouts {
    const Hierarchies& hierarchies;
    const std::string& path;
    std::span<const Part> parts;  // by hierarchy
};

// The directory itself in that hierarchy, and not another one that has its name by now; none if it is gone.
core::Descriptor open_part(const Whereabouts& where, size_t hierarchy);

class CgroupFiles {
  public:
    // Takes its place in `room` and gives it back at the end. `only_processes`: nothing else is read.
    CgroupFiles(Version version, bool only_processes, Room& room);
    CgroupFiles(const CgroupFiles&) = delete;
    CgroupFiles& operator=(const CgroupFiles&) = delete;
    ~CgroupFiles();

    // Reads what is due into `readings`: with `all` also what seldom changes, and what was not there. False:
    // the cgroup is gone.
    bool read(const Whereabouts& where, bool all, TextReader& reader, Readings& readings);
    // The cgroup's directory in this hierarchy came or went.
    void forget(size_t hierarchy);

  private:
    static constexpr size_t kNowhere = SIZE_MAX;
    struct Slot {
        core::Descriptor fd;
        size_t hierarchy = kNowhere;  // in which it was looked for
        bool is_missing = false;
    };
    enum class Outcome : uint8_t { kTaken, kMissing, kGone };
    class Directories;

    Outcome take(size_t index, Directories& directories, TextReader& reader, Readings& readings);
    Outcome take_opened(size_t index, int fd, TextReader& reader, Readings& readings) const;
    void keep(Slot& slot, core::Descriptor fd);
    void close(Slot& slot);

    std::span<const File> files_;
    std::vector<Slot> slots_;  // by file
    Room& room_;
    bool was_read_ = false;
};

}  // namespace belay::observe::cgroup
