#include "stage/retention/sums.h"

#include "stage/retention/oldest_files.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

namespace belay::stage {

namespace {

constexpr int64_t kHour = int64_t{3600} * 1'000'000'000;

double share_over(double share, double ask, uint64_t all) {
    return (share - ask) * static_cast<double>(all);
}

}  // namespace

class RetentionSums::Shared {
  public:
    // An inode with several names, of which threads may see one each.
    struct LinkedFile {
        uint32_t user = 0;
        uint64_t bytes = 0;  // on the device
        int64_t time = 0;
        bool is_exempt = false;  // one of its names
    };

    Shared(double bytes_over, double files_over) : oldest(bytes_over, files_over) {}

    void note_linked(uint64_t inode, const LinkedFile& seen) {
        const std::lock_guard lock(mutex_);
        LinkedFile& file = linked.try_emplace(inode, seen).first->second;
        file.is_exempt = file.is_exempt || seen.is_exempt;
        file.time = std::max(file.time, seen.time);
    }

    OldestFiles oldest;
    std::map<uint64_t, LinkedFile> linked;

  private:
    std::mutex mutex_;
};

RetentionSums::RetentionSums(const RetentionRules& rules)
    : rules_(rules),
      now_(core::to_nanoseconds(rules.now)),
      is_pressed_(rules.pressure() == Pressure::kPurge),
      shared_(std::make_shared<Shared>(
          share_over(rules.occupancy.bytes_share, rules.policy.ask_share.value_or(0), rules.occupancy.bytes),
          share_over(rules.occupancy.inodes_share, rules.policy.ask_share.value_or(0),
                     rules.occupancy.inodes))) {
    counts_.patterns.resize(rules.exemptions.size());
}

void RetentionSums::add(const Listing& listing) {
    const bool is_exempt_directory = rules_.exemptions.of_everything() ||
                                     (!listing.path.empty() && rules_.exemptions.covers(listing.path));
    for (const Entry& entry : listing.entries) {
        note_patterns(listing, entry);
        counts_.last_change = std::max(counts_.last_change, entry.changed);
        if (entry.type == core::FileType::kRegular) add_file(listing, entry, is_exempt_directory);
    }
}

// A pattern that covers nothing may be one that was written wrongly.
void RetentionSums::note_patterns(const Listing& listing, const Entry& entry) {
    std::string path;
    for (size_t number = 0; number < counts_.patterns.size(); ++number) {
        PatternUse& use = counts_.patterns[number];
        if (use.files) continue;
        if (path.empty()) path = listing.path_of(entry.name);
        if (!rules_.exemptions.covers(number, path)) continue;
        (entry.type == core::FileType::kLink ? use.links : use.files) = true;
    }
}

RetentionSums::Standing RetentionSums::standing_at(int64_t time) const {
    if (!is_known(time)) return {};
    const double age_days = age_in_days(time, now_);
    const double left_days = rules_.policy.days - age_days;
    const bool is_due = left_days <= 0;
    return {.is_due = is_due,
            .is_soon = !is_due && left_days <= rules_.policy.warn_days,
            .may_be_pressed = !is_due && is_pressed_ && age_days >= rules_.policy.spare_days,
            .left_days = left_days};
}

void RetentionSums::add_file(const Listing& listing, const Entry& entry, bool is_exempt_directory) {
    const FileTimes times{.accessed = entry.accessed, .modified = entry.modified, .changed = entry.changed};
    const int64_t time = time_of(times, rules_.policy.time);
    const Standing standing = standing_at(time);
    const bool has_other_names = entry.links > 1;
    const uint64_t bytes = has_other_names ? 0 : entry.allocated_bytes;  // else add_linked() counts them
    UserRetention& user = counts_.users[entry.user];
    user.all.add(bytes);
    if (!is_known(time)) ++counts_.unknown_times;
    if (age_in_days(time, now_) < -1) ++counts_.future_times;
    Shared::LinkedFile linked{.user = entry.user, .bytes = entry.allocated_bytes, .time = time};
    if (standing.is_due || standing.is_soon || standing.may_be_pressed) {
        PurgeEntry listed{.path = listing.path_of(entry.name),
                          .inode = entry.inode,
                          .user = entry.user,
                          .times = times,
                          .bytes = entry.bytes,
                          .pressed = standing.may_be_pressed};
        linked.is_exempt = is_exempt_directory || rules_.exemptions.covers(listed.path);
        if (linked.is_exempt) {
            if (standing.is_due || standing.is_soon) user.exempt.add(bytes);
        } else if (!rules_.spared.spares(entry.user)) {
            add_due_or_soon(entry, standing, bytes, listed.path);
            if (standing.may_be_pressed && !rules_.with_list)
                pressable_[time / kHour][entry.user].add(bytes);
            else if (standing.may_be_pressed && shared_->oldest.wants(time))
                shared_->oldest.add(
                    {.entry = std::move(listed), .time = time, .bytes = bytes, .links = entry.links});
            else if (standing.is_due && rules_.with_list)
                counts_.entries.push_back(std::move(listed));
        }
    }
    if (has_other_names) shared_->note_linked(entry.inode, linked);
}

void RetentionSums::add_due_or_soon(const Entry& entry, const Standing& standing, uint64_t bytes,
                                    const std::string& path) {
    UserRetention& user = counts_.users[entry.user];
    if (standing.is_soon) {
        user.soon.add(bytes);
        counts_.expiring[static_cast<int64_t>(std::floor(standing.left_days))].add(bytes);
        counts_.soonest.push_back({.path = path, .user = entry.user, .days = standing.left_days});
        if (counts_.soonest.size() > 64 * kListedExpiring) keep_soonest();
    }
    if (!standing.is_due) return;
    user.due.add(bytes);
    if (entry.links > 1) ++user.due_with_other_names;
    if (age_in_days(entry.changed, now_) < rules_.policy.days) counts_.due_but_new.add(entry.allocated_bytes);
}

void RetentionSums::keep_soonest() {
    std::ranges::sort(counts_.soonest, {}, [](const ExpiringFile& file) {
        return std::pair(file.days, std::string_view(file.path));
    });
    if (counts_.soonest.size() > kListedExpiring) counts_.soonest.resize(kListedExpiring);
}

void RetentionSums::add(RetentionSums&& other) {
    RetentionCounts& more = other.counts_;
    for (const auto& [id, user] : more.users) {
        UserRetention& mine = counts_.users[id];
        mine.all.add(user.all);
        mine.due.add(user.due);
        mine.soon.add(user.soon);
        mine.exempt.add(user.exempt);
        mine.due_with_other_names += user.due_with_other_names;
    }
    for (const auto& [day, count] : more.expiring) counts_.expiring[day].add(count);
    for (const auto& [hour, users] : other.pressable_)
        for (const auto& [user, count] : users) pressable_[hour][user].add(count);
    auto append = [](auto& to, auto& from) {
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    append(counts_.soonest, more.soonest);
    append(counts_.entries, more.entries);
    for (size_t number = 0; number < counts_.patterns.size(); ++number) {
        counts_.patterns[number].files = counts_.patterns[number].files || more.patterns[number].files;
        counts_.patterns[number].links = counts_.patterns[number].links || more.patterns[number].links;
    }
    counts_.unknown_times += more.unknown_times;
    counts_.future_times += more.future_times;
    counts_.due_but_new.add(more.due_but_new);
    counts_.last_change = std::max(counts_.last_change, more.last_change);
}

// The bytes of each file with several names, whichever of its names came first.
void RetentionSums::add_linked() {
    for (const auto& [inode, file] : shared_->linked) {
        UserRetention& user = counts_.users[file.user];
        user.all.bytes += file.bytes;
        const Standing standing = standing_at(file.time);
        if (file.is_exempt) {
            if (standing.is_due || standing.is_soon) user.exempt.bytes += file.bytes;
            continue;
        }
        if (rules_.spared.spares(file.user)) continue;
        if (standing.is_due) user.due.bytes += file.bytes;
        if (standing.is_soon) {
            user.soon.bytes += file.bytes;
            counts_.expiring[static_cast<int64_t>(std::floor(standing.left_days))].bytes += file.bytes;
        }
        if (standing.may_be_pressed && !rules_.with_list)
            pressable_[file.time / kHour][file.user].bytes += file.bytes;
    }
}

// Of younger files the oldest, until there is room enough, or all whose hour is as old as that.
void RetentionSums::press_out() {
    const double ask = rules_.policy.ask_share.value_or(0);
    const Occupancy& occupancy = rules_.occupancy;
    double bytes_over = share_over(occupancy.bytes_share, ask, occupancy.bytes);
    double files_over = share_over(occupancy.inodes_share, ask, occupancy.inodes);
    auto make_room = [&](const FileCount& gone) {
        bytes_over -= static_cast<double>(gone.bytes);
        files_over -= static_cast<double>(gone.files);
    };
    for (const auto& [id, user] : counts_.users) make_room(user.due);
    for (const auto& [hour, users] : pressable_) {
        if (bytes_over <= 0 && files_over <= 0) break;
        for (const auto& [user, count] : users) {
            counts_.users.at(user).pressed.add(count);
            make_room(count);
        }
    }
    for (YoungFile& file : shared_->oldest.take()) {
        if (bytes_over <= 0 && files_over <= 0) break;
        FileCount gone{.files = 1, .bytes = file.bytes};
        if (file.links > 1) {
            ++counts_.several_names;
            Shared::LinkedFile& linked = shared_->linked.at(file.entry.inode);
            if (!linked.is_exempt)
                gone.bytes = std::exchange(linked.bytes, 0);  // with the first of its names
        }
        counts_.users.at(file.entry.user).pressed.add(gone);
        make_room(gone);
        counts_.entries.push_back(std::move(file.entry));
    }
}

RetentionCounts RetentionSums::finish(const std::function<std::string(uint32_t)>& name_of) && {
    add_linked();
    for (auto& [id, user] : counts_.users) {
        user.name = name_of(id);
        user.spared = rules_.spared.spares(id);
        counts_.several_names += user.due_with_other_names;
    }
    keep_soonest();
    if (is_pressed_) press_out();
    std::ranges::sort(counts_.entries, {}, &PurgeEntry::path);
    return std::move(counts_);
}

}  // namespace belay::stage
