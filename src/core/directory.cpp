#include "core/directory.h"

#include "core/activity.h"
#include "core/text.h"
#include "core/user.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <memory>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belay::core {

namespace fs = std::filesystem;

namespace {

// The directory part and the last part: "tables", "host.parquet".
std::pair<std::string, std::string> split_name(std::string_view name) {
    const size_t slash = name.rfind('/');
    if (slash == std::string_view::npos) return {"", std::string(name)};
    return {std::string(name.substr(0, slash)), std::string(name.substr(slash + 1))};
}

bool is_link(int directory, const char* name) {
    struct stat status{};
    return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

// What openat2 does, one part after the other, for kernels before 5.6 and sandboxes that do not know it.
Descriptor walk_beneath(int directory, const std::string& name, int flags, unsigned mode) {
    const auto [parents, last] = split_name(name);
    Descriptor here;
    int at = directory;
    if (!parents.empty())
        for (std::string_view part : split(parents, '/')) {
            const std::string text(part);
            Descriptor next(openat(at, text.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            if (!next) {
                if (errno == ENOTDIR && is_link(at, text.c_str())) errno = ELOOP;  // as openat2 says it
                return next;
            }
            here = std::move(next);
            at = here.get();
        }
    Descriptor found(openat(at, last.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!found && errno == ENOTDIR && is_link(at, last.c_str())) errno = ELOOP;
    return found;
}

// Sets errno where it returns none.
Descriptor open_beneath(int directory, const std::string& name, int flags, unsigned mode = 0) {
    static std::atomic<bool> is_unknown = false;
    if (!is_name_beneath(name)) {
        errno = EINVAL;
        return {};
    }
    if (!is_unknown) {
        open_how how{};
        how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
        how.mode = (flags & O_CREAT) != 0 ? mode : 0;
        how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
        Descriptor found(static_cast<int>(syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how)));
        // A sandbox may say EPERM, which then has to be told from the file system's own; and the kernel takes
        // no path of PATH_MAX bytes in one piece.
        const bool is_too_long = errno == ENAMETOOLONG && name.size() >= PATH_MAX;
        if (found || (errno != ENOSYS && errno != EPERM && !is_too_long)) return found;
        if (errno == EPERM && (flags & O_NOATIME) != 0) return {};  // the answer for a file of another user
        if (errno == ENOSYS) is_unknown = true;
    }
    return walk_beneath(directory, name, flags, mode);
}

// As above, of the directory itself for "".
Descriptor open_directory(int directory, const std::string& name, int flags) {
    if (!name.empty()) return open_beneath(directory, name, flags | O_DIRECTORY);
    return Descriptor(openat(directory, ".", flags | O_DIRECTORY | O_CLOEXEC));
}

Failure failed(std::string_view verb, const fs::path& path) {
    const int reason = errno;
    if (reason == ELOOP)
        return bad_input("{} is a symbolic link, or lies behind one, which is not followed here",
                         path.string())
            .because_of_errno(ELOOP)
            .hint("put what it leads to in its place");
    return errno_error(reason, fmt::format("cannot {} {}", verb, path.string()));
}

FileFacts facts_of(const struct stat& status) {
    FileFacts facts{.owner = status.st_uid,
                    .mode = status.st_mode & 07777,
                    .bytes = static_cast<uint64_t>(status.st_size)};
    struct Row {
        mode_t format;
        FileType type;
        std::string_view name;
    };
    static constexpr Row kRows[] = {
        {S_IFREG, FileType::kRegular, "regular file"}, {S_IFDIR, FileType::kDirectory, "directory"},
        {S_IFLNK, FileType::kLink, "symbolic link"},   {S_IFIFO, FileType::kOther, "named pipe"},
        {S_IFSOCK, FileType::kOther, "socket"},        {S_IFCHR, FileType::kOther, "device"},
        {S_IFBLK, FileType::kOther, "device"},
    };
    for (const Row& row : kRows)
        if ((status.st_mode & S_IFMT) == row.format) {
            facts.type = row.type;
            facts.type_name = row.name;
        }
    return facts;
}

// A server of ours may have lent the file out (a lease; fcntl(2)), which only an open that may wait takes
// back. On a file of another user the wait would be that user's choice.
Descriptor open_and_wait(int directory, const std::string& name, int flags) {
    const Descriptor found = open_beneath(directory, name, O_PATH | O_NOFOLLOW);
    struct stat status{};
    if (!found || fstat(found.get(), &status) != 0) return {};
    if (!S_ISREG(status.st_mode) || (status.st_uid != geteuid() && status.st_uid != 0)) {
        errno = EWOULDBLOCK;
        return {};
    }
    const std::string path = fmt::format("/proc/self/fd/{}", found.get());
    return Descriptor(::open(path.c_str(), (flags & ~(O_NONBLOCK | O_CREAT | O_EXCL)) | O_CLOEXEC));
}

// The directory in which a name is, for what has no call that resolves it; without one, errno says why.
struct Place {
    Descriptor parent;
    std::string last;
};

Place place_of(int directory, std::string_view name) {
    if (!is_name_beneath(name)) {
        errno = EINVAL;
        return {};
    }
    auto [parents, last] = split_name(name);
    return {open_directory(directory, parents, O_PATH), std::move(last)};
}

}  // namespace

bool is_name_beneath(std::string_view name) {
    for (std::string_view part : split(name, '/'))
        if (part.empty() || part == "." || part == "..") return false;
    return name.find('\0') == std::string_view::npos;
}

Result<Directory> Directory::open(const fs::path& path) {
    BELAY_TRY(fd, core::open_file(path, O_RDONLY | O_DIRECTORY));
    return Directory(std::move(fd), path);
}

Result<Directory> Directory::open_trusted(const fs::path& path) {
    note_activity("open", path.native());
    // "link/" is the directory behind the link, as the kernel sees it.
    const fs::path name = path.has_filename() ? path : path.parent_path();
    Descriptor last(::open(name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!last || fstat(last.get(), &status) != 0) return failed("open", path);
    if (S_ISLNK(status.st_mode) && status.st_uid != geteuid() && status.st_uid != 0)
        return bad_input("{} is a symbolic link of another user, which is not followed", path.string())
            .because(Cause::kDenied)
            .hint("name the directory itself");
    if (S_ISLNK(status.st_mode)) {
        std::array<char, PATH_MAX> target{};
        const ssize_t size = readlinkat(last.get(), "", target.data(), target.size() - 1);
        if (size < 0) return failed("read", path);
        fs::path leads_to(std::string_view(target.data(), static_cast<size_t>(size)));
        if (leads_to.is_relative()) leads_to = name.parent_path() / leads_to;
        BELAY_TRY(fd, core::open_file(leads_to, O_RDONLY | O_DIRECTORY));
        return Directory(std::move(fd), path);
    }
    // The very directory that was looked at, whatever has its name by now.
    Descriptor fd(openat(last.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return failed("open", path);
    return Directory(std::move(fd), path);
}

Result<Directory> Directory::open_guarded(const fs::path& path) {
    note_activity("open", path.native());
    std::error_code error;
    const fs::path whole = fs::absolute(path, error);
    if (error) return errno_error(error, fmt::format("cannot open {}", path.string()));
    std::vector<fs::path> left(whole.begin(), whole.end());  // the next one last
    std::ranges::reverse(left);
    Descriptor here(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat root{};
    if (!here || fstat(here.get(), &root) != 0) return failed("open", "/");
    fs::path at = "/";
    constexpr int kMostLinks = 40;  // as the kernel has it
    for (int links = 0; !left.empty();) {
        const fs::path part = std::move(left.back());
        left.pop_back();
        if (part.is_absolute()) here = Descriptor(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (part.is_absolute()) at = "/";
        if (part.is_absolute() || part.empty() || part == ".") continue;
        at = part == ".." ? at.parent_path() : at / part;
        Descriptor next(openat(here.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat status{};
        if (!next || fstat(next.get(), &status) != 0) return failed("open", at);
        // In a user namespace, root's directories may appear to belong to the owner of "/".
        if (status.st_uid != geteuid() && status.st_uid != 0 && status.st_uid != root.st_uid)
            return bad_input("{} belongs to {}, who may put something else in the place of {}", at.string(),
                             user_name(status.st_uid), path.string())
                .because(Cause::kDenied);
        if (S_ISLNK(status.st_mode)) {
            if (++links > kMostLinks) return errno_error(ELOOP, fmt::format("cannot open {}", path.string()));
            std::array<char, PATH_MAX> target{};
            const ssize_t size = readlinkat(next.get(), "", target.data(), target.size() - 1);
            if (size < 0) return failed("read", at);
            const fs::path leads_to(std::string_view(target.data(), static_cast<size_t>(size)));
            for (auto word = leads_to.end(); word != leads_to.begin();) left.push_back(*--word);
            at = at.parent_path();
            continue;
        }
        if (!S_ISDIR(status.st_mode)) return errno_error(ENOTDIR, fmt::format("cannot open {}", at.string()));
        if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0)
            return bad_input("everybody may put something else in the place of what is in {} (mode {:04o})",
                             at.string(), status.st_mode & 07777U)
                .hint("take the right to write there away from others, or add the sticky bit (chmod +t)")
                .because(Cause::kDenied);
        here = std::move(next);
    }
    Descriptor fd(openat(here.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return failed("open", path);
    return Directory(std::move(fd), path);
}

Result<Directory> Directory::make_guarded(const fs::path& path, unsigned mode) {
    std::error_code error;
    fs::path there = fs::absolute(path, error);
    if (error) return errno_error(error, fmt::format("cannot open {}", path.string()));
    std::vector<fs::path> missing;  // the first one last
    auto at = open_guarded(there);
    while (!at && at.error().errno_value() == ENOENT && there.has_relative_path()) {
        if (there.has_filename()) missing.push_back(there.filename());
        there = there.parent_path();
        at = open_guarded(there);
    }
    if (!at) return at;
    for (; !missing.empty(); missing.pop_back()) {
        if (missing.back() == ".") continue;
        BELAY_CHECK(at->make_directory(missing.back().native(), mode));
        BELAY_TRY(next, at->enter(missing.back().native()));
        at = std::move(next);
    }
    return open_guarded(path);  // what others made meanwhile is looked at too
}

Result<FileFacts> Directory::facts() const {
    note_activity("look at", path_.native());
    struct stat status{};
    if (fstat(fd(), &status) != 0) return failed("look at", path_);
    return facts_of(status);
}

Result<std::optional<FileFacts>> Directory::facts(std::string_view name) const {
    note_activity("look at", path_of(name).native());
    const auto [parent, last] = place_of(fd(), name);
    if (!parent && errno == ENOENT) return std::nullopt;
    struct stat status{};
    if (parent && fstatat(parent.get(), last.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
        return facts_of(status);
    if (parent && errno == ENOENT) return std::nullopt;
    return failed("look at", path_of(name));
}

Result<Descriptor> Directory::open_file(std::string_view name, int flags, unsigned mode) const {
    note_activity("open", path_of(name).native());
    const std::string text(name);
    Descriptor found = open_beneath(fd(), text, flags | O_NONBLOCK | O_NOCTTY, mode);
    if (!found && errno == EWOULDBLOCK) found = open_and_wait(fd(), text, flags);
    if (found && (flags & O_EXCL) != 0) return found;  // made here
    struct stat status{};
    const bool is_seen = found && fstat(found.get(), &status) == 0;
    if (is_seen && S_ISREG(status.st_mode)) return found;
    const int reason = errno;
    std::optional<FileFacts> other;
    if (is_seen) other = facts_of(status);
    // What cannot be opened at all may still be told by its name: a socket, a pipe that nobody reads.
    if (!found) other = facts(name).value_or(std::nullopt);
    if (other && other->type != FileType::kRegular && other->type != FileType::kLink)
        return bad_input("{} is a {}, not a regular file", path_of(name).string(), other->type_name);
    errno = reason;
    if (reason == EWOULDBLOCK && other)
        return errno_error(reason, fmt::format("cannot open {}", path_of(name).string()))
            .hint(fmt::format("a program of {} has a lease on it: read it when that has ended, or copy it",
                              user_name(other->owner)));
    return failed("open", path_of(name));
}

Result<Descriptor> Directory::open_quietly(std::string_view name) const {
    // Only the owner of a file may ask for that; others are told at once, without what open_file() looks up for a message.
    note_activity("open", path_of(name).native());
    Descriptor found = open_beneath(fd(), std::string(name), O_RDONLY | O_NOATIME | O_NONBLOCK | O_NOCTTY);
    struct stat status{};
    if (found && fstat(found.get(), &status) == 0 && S_ISREG(status.st_mode)) return found;
    return open_file(name, found || errno != EPERM ? O_RDONLY | O_NOATIME : O_RDONLY);
}

Result<std::string> Directory::read_file(std::string_view name, size_t limit) const {
    BELAY_TRY(file, open_file(name, O_RDONLY));
    return read_to_end(file.get(), path_of(name).string(), limit);
}

Result<Directory> Directory::enter(std::string_view name) const {
    note_activity("open", path_of(name).native());
    Descriptor found = open_directory(fd(), std::string(name), O_RDONLY);
    if (!found) return failed("open", path_of(name));
    return Directory(std::move(found), name.empty() ? path_ : path_of(name));
}

Result<std::vector<std::string>> Directory::list() const {
    note_activity("list", path_.native());
    Descriptor opened = open_directory(fd(), "", O_RDONLY);  // its own place in the list
    if (!opened) return failed("list", path_);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(opened.get()), closedir);
    if (!entries) return failed("list", path_);
    (void)opened.release();
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(entries.get())) {
        const std::string_view text = entry->d_name;
        if (text != "." && text != "..") names.emplace_back(text);
        errno = 0;
    }
    if (errno != 0) return failed("list", path_);
    std::ranges::sort(names);
    return names;
}

Result<bool> Directory::make_directory(std::string_view name, unsigned mode) const {
    note_activity("create", path_of(name).native());
    const auto [parent, last] = place_of(fd(), name);
    if (parent && mkdirat(parent.get(), last.c_str(), mode) == 0) return true;
    if (!parent || errno != EEXIST) return failed("create directory", path_of(name));
    BELAY_TRY(there, facts(name));
    if (there && there->type == FileType::kDirectory) return false;
    if (there) return bad_input("{} is a {}, not a directory", path_of(name).string(), there->type_name);
    errno = EEXIST;  // and gone again
    return failed("create directory", path_of(name));
}

Result<> Directory::remove_file(std::string_view name) const {
    note_activity("remove", path_of(name).native());
    const auto [parent, last] = place_of(fd(), name);
    if (!parent || unlinkat(parent.get(), last.c_str(), 0) != 0) return failed("remove", path_of(name));
    return {};
}

Result<> Directory::remove_directory(std::string_view name) const {
    note_activity("remove", path_of(name).native());
    const auto [parent, last] = place_of(fd(), name);
    if (!parent || unlinkat(parent.get(), last.c_str(), AT_REMOVEDIR) != 0)
        return failed("remove", path_of(name));
    return {};
}

Result<> Directory::rename(std::string_view from, std::string_view to) const {
    note_activity("rename", path_of(from).native());
    const auto [source, old_name] = place_of(fd(), from);
    if (!source) return failed("rename", path_of(from));
    const auto [target, new_name] = place_of(fd(), to);
    if (!target || renameat(source.get(), old_name.c_str(), target.get(), new_name.c_str()) != 0)
        return failed("rename", path_of(from));
    return {};
}

Result<> Directory::sync() const {
    note_activity("sync", path_.native());
    if (fsync(fd()) != 0 && errno != EINVAL) return failed("sync", path_);
    return {};
}

}  // namespace belay::core
