#include "observe/cgroup/cgroup_files.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::observe::cgroup {

namespace {

constexpr size_t kFirstRoom = size_t{16} << 10;
constexpr size_t kMostText = size_t{1} << 20;

// The hierarchy that holds a file of the cgroup; SIZE_MAX if none does.
size_t hierarchy_of(const File& file, const Whereabouts& where) {
    for (size_t i = 0; i < where.parts.size(); ++i)
        if (where.parts[i].inode != 0 &&
            (file.controller.empty() || where.hierarchies.each[i].has(file.controller)))
            return i;
    return SIZE_MAX;
}

core::Descriptor open_beneath(int directory, std::string_view name) {
    return core::Descriptor(openat(directory, std::string(name).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

std::expected<std::string_view, int> TextReader::read(int fd, bool is_list) {
    size_t have = 0;
    for (;;) {
        if (have == kMostText) return std::unexpected(EFBIG);
        if (have == buffer_.size()) buffer_.resize(std::max(kFirstRoom, buffer_.size() * 2));
        const size_t room = buffer_.size() - have;
        const ssize_t length = pread(fd, buffer_.data() + have, room, static_cast<off_t>(have));
        if (length < 0 && errno == EINTR) continue;
        if (length < 0) return std::unexpected(errno);
        have += static_cast<size_t>(length);
        if (length == 0 || (!is_list && static_cast<size_t>(length) < room)) break;
    }
    return std::string_view(buffer_.data(), have);
}

core::Descriptor open_part(const Whereabouts& where, size_t hierarchy) {
    core::Descriptor directory(openat(where.hierarchies.each[hierarchy].root.get(), where.path.c_str(),
                                      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct ::stat status{};
    if (!directory || fstat(directory.get(), &status) != 0 || status.st_ino != where.parts[hierarchy].inode)
        return {};
    return directory;
}

// Opened when the first file beneath them has to be.
class CgroupFiles::Directories {
  public:
    explicit Directories(const Whereabouts& where) : where_(where) {}

    const Whereabouts& where() const { return where_; }
    // -1 if it is gone.
    int get(size_t hierarchy) {
        if (opened_.empty()) opened_.resize(where_.parts.size());
        if (!opened_[hierarchy]) opened_[hierarchy] = open_part(where_, hierarchy);
        return opened_[hierarchy].get();
    }
    // Whether all those that were opened are there still.
    bool are_there() const {
        for (size_t i = 0; i < opened_.size(); ++i)
            if (opened_[i] && !open_part(where_, i)) return false;
        return true;
    }

  private:
    const Whereabouts& where_;
    std::vector<core::Descriptor> opened_;
};

CgroupFiles::CgroupFiles(Version version, bool only_processes, Room& room)
    : files_(only_processes ? files_of(version).last(1) : files_of(version)),
      slots_(files_.size()),
      room_(room) {
    --room_.cgroups;
}

CgroupFiles::~CgroupFiles() {
    for (Slot& slot : slots_) close(slot);
    ++room_.cgroups;
}

void CgroupFiles::keep(Slot& slot, core::Descriptor fd) {
    if (room_.files == 0) return;
    --room_.files;
    slot.fd = std::move(fd);
}

void CgroupFiles::close(Slot& slot) {
    if (!slot.fd) return;
    slot.fd.reset();
    ++room_.files;
}

void CgroupFiles::forget(size_t hierarchy) {
    for (Slot& slot : slots_) {
        if (slot.hierarchy != hierarchy && slot.hierarchy != kNowhere) continue;
        close(slot);
        was_read_ = false;
    }
}

bool CgroupFiles::read(const Whereabouts& where, bool all, TextReader& reader, Readings& readings) {
    Directories directories(where);
    bool is_any_missing = false;
    for (size_t i = 0; i < files_.size(); ++i) {
        Slot& slot = slots_[i];
        const bool is_due = all || !was_read_ || (!slot.is_missing && !files_[i].is_seldom_changed);
        if (!is_due) continue;
        const Outcome outcome = take(i, directories, reader, readings);
        if (outcome == Outcome::kGone) return false;
        slot.is_missing = outcome == Outcome::kMissing;
        if (slot.is_missing) files_[i].take(std::nullopt, readings);
        is_any_missing = is_any_missing || slot.is_missing;
    }
    was_read_ = true;
    // Nothing can be opened beneath a directory that was removed, but its descriptor is as good as before.
    return !is_any_missing || directories.are_there();
}

CgroupFiles::Outcome CgroupFiles::take(size_t index, Directories& directories, TextReader& reader,
                                       Readings& readings) {
    Slot& slot = slots_[index];
    if (slot.fd) return take_opened(index, slot.fd.get(), reader, readings);
    const File& file = files_[index];
    slot.hierarchy = hierarchy_of(file, directories.where());
    if (slot.hierarchy == kNowhere) return Outcome::kMissing;
    const int directory = directories.get(slot.hierarchy);
    if (directory < 0) return Outcome::kGone;
    core::Descriptor fd = open_beneath(directory, file.name);
    if (!fd && !file.fallback.empty()) fd = open_beneath(directory, file.fallback);
    if (!fd) return errno == ENODEV ? Outcome::kGone : Outcome::kMissing;
    const Outcome outcome = take_opened(index, fd.get(), reader, readings);
    if (outcome == Outcome::kTaken) keep(slot, std::move(fd));
    return outcome;
}

CgroupFiles::Outcome CgroupFiles::take_opened(size_t index, int fd, TextReader& reader,
                                              Readings& readings) const {
    const auto text = reader.read(fd, files_[index].name == kProcesses);
    if (!text && text.error() == ENODEV) return Outcome::kGone;
    if (!text) return Outcome::kMissing;
    files_[index].take(*text, readings);
    return Outcome::kTaken;
}

}  // namespace belay::observe::cgroup
