#include "stage/pack/source_file.h"

#include "core/text.h"
#include "core/utf8.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::bad_input;
using core::Descriptor;
using core::Result;

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

std::string shown(const core::Directory& root, const std::string& path) { return core::printable(root.path_of(path).string()); }

core::Failure changed(const core::Directory& root, const SourceFile& file) {
    return bad_input("{} has changed since the files were listed", shown(root, file.path))
        .hint("pack it again when nobody writes to it; what is packed already and has not changed is kept");
}

// Through links, but not out of the tree.
Descriptor open_within(int directory, const std::string& path, int flags) {
    open_how how{};
    how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    return Descriptor(static_cast<int>(syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
}

bool is_as_listed(const struct stat& status, const SourceFile& file) {
    return S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) == file.bytes && nanoseconds(status.st_mtim) == file.modified &&
           status.st_ino == file.inode;
}

Result<Descriptor> open_once(const core::Directory& root, const SourceFile& file, int flags) {
    if (!file.is_link) return root.open_file(file.path, flags);
    Descriptor found = open_within(root.fd(), file.path, flags | O_NONBLOCK | O_NOCTTY);
    if (!found) return core::errno_error(errno, fmt::format("cannot open {}", shown(root, file.path)));
    return found;
}

}  // namespace

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
                      .modified = nanoseconds(status.st_mtim),
                      .inode = status.st_ino,
                      .is_link = true};
}

Result<Descriptor> open_source(const core::Directory& root, const SourceFile& file) {
    auto opened = open_once(root, file, O_RDONLY | O_NOATIME);
    if (!opened && opened.error().errno_value() == EPERM) opened = open_once(root, file, O_RDONLY);
    if (!opened && (opened.error().cause() == core::Cause::kNotFound || opened.error().kind() == core::ErrorKind::kBadInput))
        return changed(root, file);
    if (!opened) return opened;
    struct stat status{};
    if (fstat(opened->get(), &status) != 0) return core::errno_error(errno, fmt::format("cannot look at {}", shown(root, file.path)));
    if (!is_as_listed(status, file)) return changed(root, file);
    return opened;
}

Result<> read_source(const core::Directory& root, const SourceFile& file, std::string& buffer, const TakeBytes& take) {
    BELAY_TRY(opened, open_source(root, file));
    uint64_t left = file.bytes;
    while (left > 0) {
        const ssize_t size = read(opened.get(), buffer.data(), std::min<uint64_t>(buffer.size(), left));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return core::errno_error(errno, fmt::format("cannot read {}", shown(root, file.path)));
        if (size == 0) return changed(root, file);
        BELAY_CHECK(take(std::string_view(buffer).substr(0, static_cast<size_t>(size))));
        left -= static_cast<uint64_t>(size);
    }
    // Whoever writes while it is read changes its time; of what was read nothing is known then.
    struct stat status{};
    if (fstat(opened.get(), &status) != 0 || !is_as_listed(status, file)) return changed(root, file);
    return {};
}

}  // namespace belay::stage
