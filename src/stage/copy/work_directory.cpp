#include "stage/copy/work_directory.h"

#include "core/utf8.h"
#include "stage/copy/file_look.h"
#include "stage/copy/layout.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::bad_input;
using core::Directory;
using core::Result;

constexpr size_t kTagDigits = 8, kDigestDigits = 16;
constexpr unsigned kWorkMode = 0700;
// Whether what is waited for is still there.
constexpr core::Duration kLookAgain = std::chrono::milliseconds(200);

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

std::string cleaning_name() {
    return work_name("", core::sha256("belay stage clean"));
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

Result<std::optional<HeldWork>> lock_work(const Directory& parent, const std::string& name, bool make,
                                          const core::Deadline& deadline) {
    while (true) {
        if (make)
            if (auto made = parent.make_directory(name, kWorkMode); !made) {
                if (made.error().errno_value() == EEXIST)
                    continue;  // whoever held it has removed it just now
                return std::unexpected(std::move(made.error()));
            }
        auto work = parent.enter(name);
        if (!work && work.error().cause() == core::Cause::kNotFound) {
            if (make) continue;
            return std::optional<HeldWork>();
        }
        if (!work) return std::unexpected(std::move(work.error()));
        BELAY_TRY(seen, look_at_file(*work, ""));
        if (!seen || seen->owner != geteuid())
            return bad_input("{} belongs to another user", core::printable(work->path().string()))
                .because(core::Cause::kDenied)
                .hint("name another destination");
        // All that is in it goes in the end.
        if (seen->is_mount)
            return bad_input("something is mounted at {}", core::printable(work->path().string()))
                .hint("unmount it, or name another destination");
        BELAY_TRY(lock, core::FileLock::acquire(work->fd(), parent, name + ".lease",
                                                deadline.but_within(kLookAgain)));
        if (lock && is_at(*work, parent, name))
            return std::optional(HeldWork{std::move(*work), std::move(*lock)});
        if (!lock && deadline.is_over())
            return bad_input("another process copies to {}", core::printable(parent.path().string()))
                .hint(
                    "wait for it; nodes that share a directory need only one copy in it: name one that each "
                    "node has for itself");
    }
}

Result<> remove_held_work(const Directory& parent, const std::string& name, const Directory& work) {
    BELAY_TRY(files, work.list());
    for (const std::string& file : files) BELAY_CHECK(work.remove_file(file));
    return parent.remove_directory(name);
}

}  // namespace belay::stage
