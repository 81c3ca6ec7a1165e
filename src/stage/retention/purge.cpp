#include "stage/retention/purge.h"

#include "core/directory.h"
#include "core/text.h"
#include "stage/retention/occupancy.h"
#include "stage/walk/entries.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <set>
#include <system_error>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::Result;

constexpr core::Duration kClocksDiffer = std::chrono::hours(1);

std::string reason_of(int errno_value) {
    return std::generic_category().message(errno_value);
}

PurgeEntry found_in(const Entry& entry) {
    return {.inode = entry.inode,
            .user = entry.user,
            .times = {.accessed = entry.accessed, .modified = entry.modified, .changed = entry.changed},
            .bytes = entry.bytes};
}

// One directory after the other: the entries of a list come by path.
class Purger {
  public:
    Purger(const core::Directory& root, const MountPlace& place, const PurgeList& list,
           const PurgeOptions& options, PurgeReport& report)
        : root_(root), place_(place), list_(list), options_(options), report_(report) {}

    void remove(const PurgeEntry& listed) {
        const size_t slash = listed.path.rfind('/');
        const std::string parent = slash == std::string::npos ? "" : listed.path.substr(0, slash);
        const std::string name = listed.path.substr(slash == std::string::npos ? 0 : slash + 1);
        if (!directory_ || parent != parent_) enter(parent);
        if (!directory_) return keep(listed, why_not_, errno_ == ENOENT);
        if (std::string why = why_not_due(list_, listed, options_.now); !why.empty())
            return keep(listed, std::move(why));
        const Look seen = look_at(directory_->fd(), name, true);
        if (seen.errno_value != 0)
            return keep(listed, reason_of(seen.errno_value), seen.errno_value == ENOENT);
        if (listed.pressed && !is_too_full())
            return keep(listed, "is not due, and the file system is no fuller than asked");
        if (seen.entry.type != core::FileType::kRegular)
            return keep(listed, "is not a regular file any more");
        if (!seen.place.is_mount_of(place_)) return keep(listed, "lies on another file system");
        PurgeEntry found = found_in(seen.entry);
        // Taking a name away changes that time for its other names.
        if (unnamed_.contains(listed.inode)) found.times.changed = listed.times.changed;
        if (std::string why = why_kept(listed, found); !why.empty()) return keep(listed, std::move(why));
        if (!options_.dry_run && unlinkat(directory_->fd(), name.c_str(), 0) != 0) {
            const int reason = errno;
            if (reason == ENOENT) return keep(listed, {}, true);
            report_.kept.push_back({.path = listed.path,
                                    .why = fmt::format("cannot be deleted: {}", reason_of(reason)),
                                    .failed = true});
            return;
        }
        if (!options_.dry_run && seen.entry.links > 1) unnamed_.insert(listed.inode);
        ++report_.deleted_files;
        report_.deleted_bytes += listed.bytes;
    }

  private:
    // Looked at now and then: people may have cleaned up, and what goes here makes room.
    bool is_too_full() {
        constexpr unsigned kBetweenLooks = 64;
        if (pressed_++ % kBetweenLooks != 0) return is_too_full_;
        const auto occupancy = occupancy_of(root_);
        is_too_full_ = occupancy && occupancy->share() > list_.ask_share;
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
        const Look seen = look_at(entered->fd(), "", true);
        errno_ = seen.errno_value;
        if (errno_ != 0)
            why_not_ = reason_of(errno_);
        else if (!seen.place.is_mount_of(place_))
            why_not_ = "lies on another file system";
        else
            directory_.emplace(std::move(*entered));
    }
    void keep(const PurgeEntry& listed, std::string why, bool is_gone = false) {
        if (is_gone)
            ++report_.gone;
        else
            report_.kept.push_back({.path = listed.path, .why = std::move(why)});
    }

    const core::Directory& root_;
    const MountPlace& place_;
    const PurgeList& list_;
    const PurgeOptions& options_;
    PurgeReport& report_;
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

std::string why_not_due(const PurgeList& list, const PurgeEntry& listed, core::Time now) {
    const int64_t time = time_of(listed.times, list.time);
    const double days = listed.pressed ? list.spare_days : list.days;
    const int64_t at = core::to_nanoseconds(std::min(now, list.made));
    if (is_known(time) && age_in_days(time, at) >= days) return {};
    return fmt::format("is not {:g} {} old", days, days == 1 ? "day" : "days");
}

Result<PurgeReport> purge(const PurgeList& list, const PurgeOptions& options) {
    if (list.made > core::Time::min() + kClocksDiffer && list.made - kClocksDiffer > options.now)
        return core::bad_input("the list was made at {}, and now it is {}", core::format_time(list.made),
                               core::format_time(options.now))
            .hint("look at the clock of this machine, and at that of the one that made the list");
    auto opened = core::Directory::open_trusted(list.root);
    if (!opened && (opened.error().errno_value() == ENOENT || opened.error().errno_value() == ENOTDIR))
        return std::unexpected(std::move(opened.error()).as(core::ErrorKind::kBadInput));
    if (!opened) return std::unexpected(std::move(opened.error()));
    const core::Directory& root = *opened;
    const Look place = look_at(root.fd(), "", true);
    if (place.errno_value != 0)
        return core::errno_error(place.errno_value, fmt::format("cannot look at {}", list.root));
    PurgeReport report;
    Purger purger(root, place.place, list, options, report);
    uint64_t done = 0;
    for (const PurgeEntry& entry : list.entries) {
        if (options.stop != nullptr && *options.stop)
            return core::system_error("purging {} was stopped after {}", list.root,
                                      core::format_count(done, "file"))
                .because(core::Cause::kCancelled);
        purger.remove(entry);
        if (options.progress) options.progress(++done);
    }
    return report;
}

}  // namespace belay::stage
