#include "core/new_file.h"

#include "core/activity.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace belay::core {

namespace fs = std::filesystem;

Result<std::string> random_name(std::string_view prefix) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return errno_error(errno, "cannot get random bytes");
    return fmt::format("{}{:016x}", prefix, random);
}

namespace {

// Of these it is known that a file without a name can get one. Elsewhere it might only turn out when it is
// written (SMB makes such files and has no hard links).
bool links_nameless_files(const Directory& parent) {
    constexpr decltype(statfs::f_type) kKnown[] = {BTRFS_SUPER_MAGIC,     EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                                   OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC,      XFS_SUPER_MAGIC};
    struct statfs facts{};
    return fstatfs(parent.fd(), &facts) == 0 && std::ranges::find(kKnown, facts.f_type) != std::end(kKnown);
}

// Through /proc it gets its name later, without any privilege (open(2), O_TMPFILE).
std::string path_through(int fd) {
    return fmt::format("/proc/self/fd/{}", fd);
}

// Without a name; nothing where that is not possible.
Descriptor open_nameless(const Directory& parent, unsigned mode) {
    if (!links_nameless_files(parent)) return {};
    Descriptor fd(openat(parent.fd(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
    if (fd && access(path_through(fd.get()).c_str(), F_OK) != 0) fd.reset();
    return fd;
}

}  // namespace

Result<NewFile> NewFile::begin(const Directory& directory, std::string_view name, unsigned mode,
                               std::string_view temporary_start) {
    if (!is_name_beneath(name))
        return errno_error(EINVAL, fmt::format("cannot create {}", directory.path_of(name).string()));
    const fs::path relative(name);
    BELAY_TRY(parent, directory.enter(relative.parent_path().native()));
    std::string last = relative.filename();
    BELAY_TRY(temporary,
              random_name(temporary_start.empty() ? last + ".tmp-" : std::string(temporary_start)));
    note_activity("create", directory.path_of(name).native());
    if (Descriptor nameless = open_nameless(parent, mode))
        return NewFile(std::move(parent), std::move(nameless), std::move(last), std::move(temporary), false);
    auto fd = parent.open_file(temporary, O_RDWR | O_CREAT | O_EXCL, mode);
    if (!fd && fd.error().errno_value() != 0)  // in the words of the name that was asked for
        return errno_error(fd.error().errno_value(),
                           fmt::format("cannot create {}", directory.path_of(name).string()));
    if (!fd) return std::unexpected(std::move(fd.error()));
    return NewFile(std::move(parent), std::move(*fd), std::move(last), std::move(temporary), true);
}

NewFile::NewFile(NewFile&& other) noexcept
    : parent_(std::move(other.parent_)),
      fd_(std::move(other.fd_)),
      name_(std::move(other.name_)),
      temporary_(std::move(other.temporary_)),
      has_temporary_(std::exchange(other.has_temporary_, false)) {}

NewFile::~NewFile() {
    // Not by remove_file, which needs a descriptor: there may be none left.
    if (has_temporary_) unlinkat(parent_.fd(), temporary_.c_str(), 0);
}

// A further name for it; fails if there is something of that name. As linkat(2).
int NewFile::link(const std::string& name) const {
    if (has_temporary_) return linkat(parent_.fd(), temporary_.c_str(), parent_.fd(), name.c_str(), 0);
    return linkat(AT_FDCWD, path_through(fd_.get()).c_str(), parent_.fd(), name.c_str(), AT_SYMLINK_FOLLOW);
}

Result<> NewFile::replace() && {
    BELAY_CHECK(sync());
    note_activity("replace", path().native());
    auto failed = [&] { return errno_error(errno, fmt::format("cannot replace {}", path().string())); };
    if (!has_temporary_) {
        if (link(name_) == 0) return parent_.sync();
        if (errno != EEXIST || link(temporary_) != 0) return failed();
        has_temporary_ = true;
    }
    if (renameat(parent_.fd(), temporary_.c_str(), parent_.fd(), name_.c_str()) != 0) return failed();
    has_temporary_ = false;
    return parent_.sync();
}

Result<bool> NewFile::create() && {
    BELAY_CHECK(sync());
    note_activity("create", path().native());
    if (link(name_) != 0) {
        if (errno == EEXIST) return false;
        return errno_error(errno, fmt::format("cannot create {}", path().string()));
    }
    BELAY_CHECK(parent_.sync());
    return true;
}

Result<> NewFile::sync() const {
    note_activity("sync", path().native());
    if (fsync(fd_.get()) != 0) return errno_error(errno, fmt::format("cannot sync {}", path().string()));
    return {};
}

}  // namespace belay::core
