#include "stage/retention/purge.h"

#include "core/directory.h"
#include "stage/retention/survey.h"
#include "stage/walk/entries.h"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <system_error>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::Result;

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x00001000U
#endif

// What the kernel says of a name in a directory, or of the directory itself for "".
struct Seen {
    PurgeEntry entry = {};
    uint64_t device = 0;
    std::optional<uint64_t> mount = {};  // since Linux 5.8
    bool is_regular = false;
    uint32_t links = 0;
};

// An errno, or 0. A server is asked, whatever is known of the file here: another node may just have used it.
int look(int directory, const std::string& name, Seen& seen) {
    constexpr unsigned kWanted = STATX_TYPE | STATX_UID | STATX_ATIME | STATX_MTIME | STATX_CTIME |
                                 STATX_INO | STATX_SIZE | STATX_NLINK | STATX_MNT_ID;
    struct statx status{};
    int result = 0;
    do
        result = statx(
            directory, name.c_str(),
            AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_FORCE_SYNC | (name.empty() ? AT_EMPTY_PATH : 0),
            kWanted, &status);
    while (result != 0 && errno == EINTR);
    if (result != 0) return errno;
    seen.entry.inode = status.stx_ino;
    seen.entry.user = status.stx_uid;
    seen.entry.bytes = status.stx_size;
    seen.entry.times = {.accessed = nanoseconds_of(status.stx_atime),
                        .modified = nanoseconds_of(status.stx_mtime),
                        .changed = nanoseconds_of(status.stx_ctime)};
    seen.device = makedev(status.stx_dev_major, status.stx_dev_minor);
    if ((status.stx_mask & STATX_MNT_ID) != 0) seen.mount = status.stx_mnt_id;
    seen.is_regular = S_ISREG(status.stx_mode);
    seen.links = status.stx_nlink;
    return 0;
}

std::string reason_of(int errno_value) {
    return std::generic_category().message(errno_value);
}

// One directory after the other: the entries of a list come by path.
class Purger {
  public:
    Purger(const core::Directory& root, Seen place, PurgeReport& report, bool dry_run, double ask_share)
        : root_(root), place_(std::move(place)), report_(report), dry_run_(dry_run), ask_share_(ask_share) {}

    void remove(const PurgeEntry& listed) {
        const size_t slash = listed.path.rfind('/');
        const std::string parent = slash == std::string::npos ? "" : listed.path.substr(0, slash);
        const std::string name = listed.path.substr(slash == std::string::npos ? 0 : slash + 1);
        if (!directory_ || parent != parent_) enter(parent);
        if (!directory_) return keep(listed, why_not_, errno_ == ENOENT);
        Seen seen;
        if (const int reason = look(directory_->fd(), name, seen); reason != 0)
            return keep(listed, reason_of(reason), reason == ENOENT);
        if (listed.pressed && !is_too_full())
            return keep(listed, "is not due, and the file system is no fuller than asked");
        if (!seen.is_regular) return keep(listed, "is not a regular file any more");
        if (is_elsewhere(seen)) return keep(listed, "lies on another file system");
        // Taking a name away changes that time for its other names.
        if (unnamed_.contains(listed.inode)) seen.entry.times.changed = listed.times.changed;
        if (std::string why = why_kept(listed, seen.entry); !why.empty()) return keep(listed, std::move(why));
        if (!dry_run_ && unlinkat(directory_->fd(), name.c_str(), 0) != 0) {
            const int reason = errno;
            if (reason == ENOENT) return keep(listed, {}, true);
            report_.kept.push_back({.path = listed.path,
                                    .why = fmt::format("cannot be deleted: {}", reason_of(reason)),
                                    .failed = true});
            return;
        }
        if (!dry_run_ && seen.links > 1) unnamed_.insert(listed.inode);
        ++report_.deleted_files;
        report_.deleted_bytes += listed.bytes;
    }

  private:
    // Looked at now and then: people may have cleaned up, and what goes here makes room.
    bool is_too_full() {
        constexpr unsigned kBetweenLooks = 64;
        if (pressed_++ % kBetweenLooks != 0) return is_too_full_;
        const auto occupancy = occupancy_of(root_);
        is_too_full_ = occupancy && occupancy->share() > ask_share_;
        return is_too_full_;
    }
    void enter(const std::string& parent) {
        directory_.reset();
        parent_ = parent;
        auto entered = root_.enter(parent);
        if (!entered) {
            errno_ = entered.error().errno_value();
            why_not_ = entered.error().message();
            return;
        }
        Seen seen;
        errno_ = look(entered->fd(), "", seen);
        if (errno_ != 0)
            why_not_ = reason_of(errno_);
        else if (is_elsewhere(seen))
            why_not_ = "lies on another file system";
        else
            directory_.emplace(std::move(*entered));
    }
    // A mount may show a part of the same file system again, which has its device but not its number of a
    // mount.
    bool is_elsewhere(const Seen& seen) const {
        return seen.device != place_.device || (seen.mount && place_.mount && *seen.mount != *place_.mount);
    }
    void keep(const PurgeEntry& listed, std::string why, bool is_gone = false) {
        if (is_gone)
            ++report_.gone;
        else
            report_.kept.push_back({.path = listed.path, .why = std::move(why)});
    }

    const core::Directory& root_;
    Seen place_;
    PurgeReport& report_;
    bool dry_run_;
    double ask_share_;
    unsigned pressed_ = 0;
    bool is_too_full_ = false;
    std::optional<core::Directory> directory_;
    std::string parent_;
    std::string why_not_;
    int errno_ = 0;
    std::set<uint64_t> unnamed_;  // inodes that have lost a name here
};

}  // namespace

std::string why_kept(const PurgeEntry& listed, const PurgeEntry& found) {
    if (listed.inode != found.inode) return "is another file of that name";
    if (listed.user != found.user) return "belongs to another user";
    if (listed.bytes != found.bytes || listed.times.modified != found.times.modified)
        return "was written since";
    if (listed.times.accessed != found.times.accessed) return "was read since";
    if (listed.times.changed != found.times.changed) return "its name, owner or permissions changed since";
    return {};
}

Result<PurgeReport> purge(const PurgeList& list, const PurgeOptions& options) {
    BELAY_TRY(root, core::Directory::open_trusted(list.root));
    Seen place;
    if (const int reason = look(root.fd(), "", place); reason != 0)
        return core::errno_error(reason, fmt::format("cannot look at {}", list.root));
    PurgeReport report;
    Purger purger(root, place, report, options.dry_run, list.ask_share);
    uint64_t done = 0;
    for (const PurgeEntry& entry : list.entries) {
        if (options.stop != nullptr && *options.stop)
            return core::system_error("purging {} was stopped after {} files", list.root, done)
                .because(core::Cause::kCancelled);
        purger.remove(entry);
        if (options.progress) options.progress(++done);
    }
    return report;
}

}  // namespace belay::stage
