#include "stage/copy/work_directory.h"

#include "core/utf8.h"
#include "stage/copy/layout.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::bad_input;
using core::Directory;
using core::Result;

constexpr size_t kTagDigits = 8, kDigestDigits = 16;

std::string start_of(std::string_view target) {
    return fmt::format("{}-{}-", kCopyPrefix, core::to_hex(core::sha256(target)).substr(0, kTagDigits));
}

bool is_hex(char digit) {
    return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
}

}  // namespace

std::string work_name(std::string_view target, const core::Sha256Digest& plan) {
    return start_of(target) + core::to_hex(plan).substr(0, kDigestDigits);
}

bool is_work_name(std::string_view name, std::string_view target) {
    const std::string start = start_of(target);
    return name.size() == start.size() + kDigestDigits && name.starts_with(start) &&
           std::ranges::all_of(name.substr(start.size()), is_hex);
}

namespace {

// Whoever held it may have removed it between our opening it and our lock.
bool is_at(const Directory& work, const Directory& parent, const std::string& name) {
    struct stat held{}, named{};
    return fstat(work.fd(), &held) == 0 &&
           fstatat(parent.fd(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

}  // namespace

Result<std::optional<Directory>> lock_work(const Directory& parent, const std::string& name, bool make,
                                           core::Deadline deadline) {
    constexpr unsigned kMode = 0700;
    constexpr core::Duration kPause = std::chrono::milliseconds(100);
    while (true) {
        if (make)
            if (auto made = parent.make_directory(name, kMode); !made) {
                if (made.error().errno_value() == EEXIST)
                    continue;  // whoever held it has removed it just now
                return std::unexpected(std::move(made.error()));
            }
        {
            auto work = parent.enter(name);
            if (!work && work.error().cause() == core::Cause::kNotFound) {
                if (make) continue;
                return std::optional<Directory>();
            }
            if (!work) return std::unexpected(std::move(work.error()));
            const std::string path = core::printable(work->path().string());
            BELAY_TRY(facts, work->facts());
            if (facts.owner != geteuid())
                return bad_input("{} belongs to another user", path)
                    .because(core::Cause::kDenied)
                    .hint("name another destination");
            if (flock(work->fd(), LOCK_EX | LOCK_NB) == 0) {
                if (is_at(*work, parent, name)) return std::optional(std::move(*work));
                continue;
            }
            if (errno != EWOULDBLOCK) return core::errno_error(errno, fmt::format("cannot lock {}", path));
        }
        if (deadline.is_over())
            return bad_input("another process copies to {}", core::printable(parent.path().string()))
                .hint(
                    "wait for it; nodes that share a directory need only one copy in it: name one that each "
                    "node has for itself");
        std::this_thread::sleep_for(std::min(kPause, deadline.left()));
    }
}

Result<> remove_held_work(const Directory& parent, const std::string& name, const Directory& work) {
    BELAY_TRY(files, work.list());
    for (const std::string& file : files) BELAY_CHECK(work.remove_file(file));
    return parent.remove_directory(name);
}

Result<> remove_work(const Directory& parent, const std::string& name) {
    BELAY_TRY(work, lock_work(parent, name, false));
    if (!work) return {};
    return remove_held_work(parent, name, *work);
}

}  // namespace belay::stage
