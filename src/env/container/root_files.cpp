#include "env/container/root_files.h"

#include "core/activity.h"
#include "core/file.h"
#include "core/text.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/openat2.h>
#include <optional>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace belay::env {

using core::Descriptor;
using core::Result;

namespace {

constexpr size_t kLargestFile = size_t{16} << 20;

// openat2(2) with RESOLVE_IN_ROOT: links of the image, also absolute ones, lead nowhere else.
Descriptor open_in_root(int root, const char* path, uint64_t flags) {
    open_how how{.flags = flags | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    return Descriptor(static_cast<int>(syscall(SYS_openat2, root, path, &how, sizeof how)));
}

// getpwuid(3), ERRORS: with these, too, the name or number was not found.
bool means_not_there(int reason) {
    return reason == 0 || reason == ENOENT || reason == ESRCH || reason == EBADF || reason == EPERM;
}

// What the name service says of the number, as a line; nothing where it does not know it.
template <typename Entry, typename Ask, typename Line>
Result<std::optional<std::string>> line_of(std::string_view kind, unsigned id, Ask ask, Line line) {
    core::note_activity(fmt::format("ask the name service for the {}", kind), fmt::format("{}", id));
    for (size_t size = 4096;; size *= 2) {  // a group may have thousands of members
        Entry entry{};
        Entry* found = nullptr;
        std::vector<char> texts(size);
        const int reason = ask(id, &entry, texts.data(), texts.size(), &found);
        if (reason == 0 && found != nullptr) return std::optional<std::string>(line(entry));
        if (means_not_there(reason)) return std::optional<std::string>();
        if (reason != ERANGE || size >= kLargestFile)
            return core::errno_error(reason, fmt::format("cannot look up {} {}", kind, id));
    }
}

Result<> add_line(int root, const char* path, unsigned id, const std::optional<std::string>& line) {
    if (!line) return {};
    const std::string cannot_open = fmt::format("cannot open {} of the image", path);
    // An image may have anything there, or nothing.
    const Descriptor found = open_in_root(root, path, O_PATH);
    if (!found && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return {};
    struct stat status{};
    if (!found || fstat(found.get(), &status) != 0) return core::errno_error(errno, cannot_open);
    if (!S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) > kLargestFile) return {};
    constexpr uint64_t kFlags = O_RDWR | O_APPEND | O_NONBLOCK | O_NOCTTY;
    Descriptor file = open_in_root(root, path, kFlags | O_NOFOLLOW);
    if (!file) file = open_in_root(root, path, kFlags);
    if (!file) return core::errno_error(errno, cannot_open);
    std::string text;
    BELAY_CHECK(core::reread(file.get(), text, path));
    if (names_id(text, id)) return {};
    return core::write_all(file.get(), (text.empty() || text.ends_with('\n') ? "" : "\n") + *line, path);
}

}  // namespace

bool names_id(std::string_view lines, unsigned id) {
    std::string wanted = fmt::format("{}", id);
    for (std::string_view line : core::split(lines, '\n')) {
        auto fields = core::split(line, ':');
        if (fields.size() > 2 && fields[2] == wanted) return true;
    }
    return false;
}

Result<> name_user(const std::filesystem::path& root, unsigned user, unsigned group,
                   const AccountService& service) {
    BELAY_TRY(directory, core::open_file(root, O_PATH | O_DIRECTORY));
    BELAY_TRY(user_line, line_of<passwd>("user", user, service.user, [](const passwd& entry) {
                  return fmt::format("{}:x:{}:{}:{}:{}:{}\n", entry.pw_name, entry.pw_uid, entry.pw_gid,
                                     entry.pw_gecos, entry.pw_dir, "/bin/sh");
              }));
    BELAY_CHECK(add_line(directory.get(), "etc/passwd", user, user_line));
    BELAY_TRY(group_line, line_of<struct group>("group", group, service.group, [](const struct group& entry) {
                  return fmt::format("{}:x:{}:\n", entry.gr_name, entry.gr_gid);
              }));
    return add_line(directory.get(), "etc/group", group, group_line);
}

}  // namespace belay::env
