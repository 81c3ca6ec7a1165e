#include "stage/pack/source_file.h"

#include "core/activity.h"
#include "core/text.h"
#include "core/utf8.h"
#include "stage/walk/entries.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/openat2.h>
#include <span>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::bad_input;
using core::Descriptor;
using core::Result;

std::string shown(const core::Directory& root, const std::string& path) {
    return core::printable(root.path_of(path).string());
}

Descriptor open_beneath(int directory, const char* path, int flags, uint64_t resolve) {
    open_how how{};
    how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve;
    return Descriptor(static_cast<int>(syscall(SYS_openat2, directory, path, &how, sizeof how)));
}

// Through links, but not out of the tree.
Descriptor open_within(int directory, const std::string& path, int flags) {
    return open_beneath(directory, path.c_str(), flags, 0);
}

// A path that the kernel does not take in one piece; without a descriptor, errno says why.
Descriptor enter_long(const core::Directory& root, const std::string& path) {
    const auto entered = root.enter(path);
    if (entered) return Descriptor(fcntl(entered->fd(), F_DUPFD_CLOEXEC, 0));
    errno = entered.error().errno_value();
    return {};
}

bool is_as_listed(const struct stat& status, const SourceFile& file) {
    return S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) == file.bytes &&
           nanoseconds_of(status.st_mtim) == file.modified && status.st_ino == file.inode;
}

// With what comes next in the file.
Result<> fill(const core::Directory& root, const std::string& path, int fd, std::span<char> place) {
    while (!place.empty()) {
        const ssize_t size = ::read(fd, place.data(), place.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return core::errno_error(errno, fmt::format("cannot read {}", shown(root, path)));
        if (size == 0) return changed_since(root, path);
        place = place.subspan(static_cast<size_t>(size));
    }
    return {};
}

}  // namespace

core::Failure changed_since(const core::Directory& root, const std::string& path) {
    return bad_input("{} has changed since the files were listed", shown(root, path))
        .hint("give the command again when nobody writes to it");
}

Result<> check_unchanged(const core::Directory& root, int opened, const SourceFile& file) {
    struct stat status{};
    if (fstat(opened, &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", shown(root, file.path)));
    if (!is_as_listed(status, file)) return changed_since(root, file.path);
    return {};
}

std::string line_of(const SourceFile& file) {
    return fmt::format("{}{}{}{}{}\n", file.path, '\0', file.bytes, '\0', file.modified);
}

Result<SourceFile> follow_link(const core::Directory& root, const std::string& path) {
    const Descriptor found = open_within(root.fd(), path, O_PATH);
    struct stat status{};
    if (!found && errno == EXDEV)
        return bad_input("the symbolic link {} leads out of the directory", shown(root, path))
            .hint("put the file in its place, or leave links out with --links=skip");
    if (!found || fstat(found.get(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot follow the symbolic link {}", shown(root, path)))
            .hint("leave links out with --links=skip");
    if (!S_ISREG(status.st_mode))
        return bad_input("the symbolic link {} does not lead to a regular file", shown(root, path))
            .hint("leave links out with --links=skip");
    return SourceFile{.path = path,
                      .bytes = static_cast<uint64_t>(status.st_size),
                      .modified = nanoseconds_of(status.st_mtim),
                      .inode = status.st_ino,
                      .is_link = true,
                      .executable = (status.st_mode & S_IXUSR) != 0};
}

Result<Descriptor> open_source(const core::Directory& root, const SourceFile& file) {
    return SourceReader(root).open(file);
}

Descriptor SourceReader::open_by_name(const std::string& path, int flags) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos)
        return open_beneath(root_->fd(), path.c_str(), flags, RESOLVE_NO_SYMLINKS);
    if (!directory_ || std::string_view(path).substr(0, slash) != directory_path_) {
        directory_path_ = path.substr(0, slash);
        directory_ =
            open_beneath(root_->fd(), directory_path_.c_str(), O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
        if (!directory_ && errno == ENAMETOOLONG) directory_ = enter_long(*root_, directory_path_);
        if (!directory_) return {};
    }
    return open_beneath(directory_.get(), path.c_str() + slash + 1, flags, RESOLVE_NO_SYMLINKS);
}

Result<Descriptor> SourceReader::open_unchecked(const SourceFile& file) {
    core::note_activity("open", file.path);
    auto open = [&](int flags) {
        flags |= O_RDONLY | O_NONBLOCK | O_NOCTTY;
        return file.is_link ? open_within(root_->fd(), file.path, flags) : open_by_name(file.path, flags);
    };
    Descriptor opened = open(O_NOATIME);
    if (!opened && errno == EPERM) opened = open(0);
    if (opened) return opened;
    // Old kernels and strict sandboxes have no openat2: core::Directory goes part by part then. Through links
    // nothing does.
    if (!file.is_link && (errno == ENOSYS || errno == EPERM)) {
        auto walked = root_->open_quietly(file.path);
        if (walked) return walked;
        if (walked.error().errno_value() == 0)
            return changed_since(*root_, file.path);  // not a regular file any more
        errno = walked.error().errno_value();
    }
    if (errno == ENOENT || errno == ELOOP || errno == ENOTDIR || errno == EXDEV || errno == ENXIO)
        return changed_since(*root_, file.path);
    return core::errno_error(errno, fmt::format("cannot open {}", shown(*root_, file.path)));
}

Result<Descriptor> SourceReader::open(const SourceFile& file) {
    BELAY_TRY(opened, open_unchecked(file));
    BELAY_CHECK(check_unchanged(*root_, opened.get(), file));
    return opened;
}

Result<> SourceReader::read(const SourceFile& file, std::span<char> buffer, const TakeBytes& take) {
    // One that is read in one piece is looked at once, behind that.
    BELAY_TRY(opened, file.bytes <= buffer.size() ? open_unchecked(file) : open(file));
    for (uint64_t left = file.bytes; left > 0;) {
        const auto piece = buffer.first(std::min<uint64_t>(buffer.size(), left));
        BELAY_CHECK(fill(*root_, file.path, opened.get(), piece));
        BELAY_CHECK(take({piece.data(), piece.size()}));
        left -= piece.size();
    }
    // Whoever writes while it is read changes its time; of what was read nothing is known then.
    return check_unchanged(*root_, opened.get(), file);
}

}  // namespace belay::stage
