#include "stage/retention/survey.h"

#include "core/text.h"
#include "core/user.h"
#include "stage/retention/glob.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <sys/statvfs.h>

namespace belay::stage {

namespace {

using core::Result;
namespace fs = std::filesystem;

Result<std::set<uint32_t>> ids_of(const std::vector<std::string>& users, std::string_view key) {
    std::set<uint32_t> ids;
    for (const std::string& user : users) {
        auto id = core::parse_number<uint32_t>(user);
        if (!id) {
            BELAY_TRY(found, core::with_context(core::user_id(user), key));
            id = found;
        }
        ids.insert(*id);
    }
    return ids;
}

double share_of(uint64_t used, uint64_t available) {
    const double all = static_cast<double>(used) + static_cast<double>(available);
    return all > 0 ? static_cast<double>(used) / all : 0;
}

std::string joined_path(std::string_view directory, std::string_view name) {
    return directory.empty() ? std::string(name) : fmt::format("{}/{}", directory, name);
}

// What mount options mean for the time that counts.
std::optional<std::string> note_on_times(const core::Directory& root, RetentionTime time) {
    struct statvfs status{};
    const bool uses_access = time != RetentionTime::kModified && time != RetentionTime::kChanged;
    if (!uses_access || fstatvfs(root.fd(), &status) != 0) return std::nullopt;
    if ((status.f_flag & ST_NOATIME) != 0)
        return "the file system is mounted with noatime here: reading does not make a file younger";
    if ((status.f_flag & ST_RELATIME) != 0)
        return "the file system is mounted with relatime here: a read counts once a day";
    return std::nullopt;
}

}  // namespace

Result<SparedUsers> find_spared(const RetentionPolicy& policy) {
    SparedUsers spared;
    BELAY_TRY(exempt, ids_of(policy.exempt_users, "exempt_users"));
    spared.exempt = std::move(exempt);
    if (policy.users.empty()) return spared;
    BELAY_TRY(only, ids_of(policy.users, "users"));
    spared.only = std::move(only);
    return spared;
}

std::string_view to_text(Pressure pressure) {
    static constexpr std::array<std::string_view, 3> kNames = {"none", "ask", "purge"};
    return kNames[static_cast<size_t>(pressure)];
}

Result<Occupancy> occupancy_of(const core::Directory& root) {
    struct statvfs status{};
    if (fstatvfs(root.fd(), &status) != 0)
        return core::errno_error(errno,
                                 fmt::format("cannot look at the file system of {}", root.path().string()));
    Occupancy occupancy{
        .bytes_share = share_of(status.f_blocks - status.f_bfree, status.f_bavail),
        .bytes = uint64_t{status.f_blocks - status.f_bfree + status.f_bavail} * status.f_frsize,
        .inodes = status.f_files - status.f_ffree + status.f_favail};
    if (status.f_files > 0)
        occupancy.inodes_share = share_of(status.f_files - status.f_ffree, status.f_favail);
    return occupancy;
}

Pressure pressure_of(const RetentionPolicy& policy, const Occupancy& occupancy) {
    if (policy.purge_share && occupancy.share() >= *policy.purge_share) return Pressure::kPurge;
    if (policy.ask_share && occupancy.share() >= *policy.ask_share) return Pressure::kAsk;
    return Pressure::kNone;
}

void RetentionSums::add(const Listing& listing) {
    const bool is_exempt_directory = !listing.path.empty() && is_exempt(policy_.exempt, listing.path);
    for (const Entry& entry : listing.entries)
        if (entry.type == core::FileType::kRegular) add_file(listing, entry, is_exempt_directory);
}

void RetentionSums::add_file(const Listing& listing, const Entry& entry, bool is_exempt_directory) {
    const FileTimes times{.accessed = entry.accessed, .modified = entry.modified, .changed = entry.changed};
    const int64_t time = time_of(times, policy_.time);
    const double age_days = (static_cast<double>(now_) - static_cast<double>(time)) / kNanosecondsOfDay;
    const double left_days = policy_.days - age_days;
    const bool is_counted = entry.links <= 1 || linked_->is_first(entry.inode);
    const uint64_t bytes = is_counted ? entry.allocated_bytes : 0;
    UserRetention& user = users_[entry.user];
    user.all.add(bytes);
    const bool is_due = left_days <= 0;
    const bool is_soon = !is_due && left_days <= policy_.warn_days;
    const bool may_be_pressed = pressed_ && !is_due && age_days >= policy_.spare_days;
    if (!is_due && !is_soon && !may_be_pressed) return;
    std::string path = joined_path(listing.path, entry.name);
    if (is_exempt_directory || is_exempt(policy_.exempt, path)) {
        if (is_due || is_soon) user.exempt.add(bytes);
        return;
    }
    if (is_soon) {
        user.soon.add(bytes);
        expiring_[entry.user][static_cast<int64_t>(std::floor(left_days))].add(bytes);
        soonest_.push_back({.path = path, .user = entry.user, .days = left_days});
        if (soonest_.size() > 64 * kListedExpiring) keep_soonest();
    }
    if (is_due) {
        user.due.add(bytes);
        if (entry.links > 1) ++user.due_with_other_names;
    }
    if (is_due ? !with_list_ : !may_be_pressed) return;
    (is_due ? due_ : younger_)
        .push_back({.entry = {.path = std::move(path),
                              .inode = entry.inode,
                              .user = entry.user,
                              .times = times,
                              .bytes = entry.bytes},
                    .allocated_bytes = bytes,
                    .time = time,
                    .links = entry.links});
}

void RetentionSums::keep_soonest() {
    std::ranges::sort(soonest_, {}, [](const ExpiringFile& file) {
        return std::pair(file.days, std::string_view(file.path));
    });
    // Users who are spared are known at the end only: some more of each.
    std::map<uint32_t, size_t> kept;
    std::erase_if(soonest_, [&](const ExpiringFile& file) { return kept[file.user]++ >= kListedExpiring; });
}

void RetentionSums::add(RetentionSums&& other) {
    for (const auto& [id, user] : other.users_) {
        UserRetention& mine = users_[id];
        mine.all.add(user.all);
        mine.due.add(user.due);
        mine.soon.add(user.soon);
        mine.exempt.add(user.exempt);
        mine.due_with_other_names += user.due_with_other_names;
    }
    for (const auto& [user, days] : other.expiring_)
        for (const auto& [day, count] : days) expiring_[user][day].add(count);
    auto append = [](auto& to, auto& from) {
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    append(soonest_, other.soonest_);
    append(due_, other.due_);
    append(younger_, other.younger_);
}

Survey RetentionSums::finish(const Occupancy& occupancy, const SparedUsers& spared,
                             const std::function<std::string(uint32_t)>& name_of) && {
    Survey result{
        .users = std::move(users_), .occupancy = occupancy, .pressure = pressure_of(policy_, occupancy)};
    for (auto& [id, user] : result.users) {
        user.name = name_of(id);
        user.spared = spared.spares(id);
        if (user.spared)
            user.due = user.soon = {};
        else
            result.several_names += user.due_with_other_names;
    }
    auto is_of_spared = [&](uint32_t user) { return result.users.at(user).spared; };
    std::erase_if(due_, [&](const Candidate& file) { return is_of_spared(file.entry.user); });
    std::erase_if(younger_, [&](const Candidate& file) { return is_of_spared(file.entry.user); });
    std::erase_if(soonest_, [&](const ExpiringFile& file) { return is_of_spared(file.user); });
    for (const auto& [user, days] : expiring_)
        if (!is_of_spared(user))
            for (const auto& [day, count] : days) result.expiring[day].add(count);
    keep_soonest();
    if (soonest_.size() > kListedExpiring) soonest_.resize(kListedExpiring);
    result.soonest = std::move(soonest_);

    double bytes_over = 0;
    double inodes_over = 0;
    if (result.pressure == Pressure::kPurge) {
        const double ask = policy_.ask_share.value_or(0);
        bytes_over = (occupancy.bytes_share - ask) * static_cast<double>(occupancy.bytes);
        inodes_over = (occupancy.inodes_share - ask) * static_cast<double>(occupancy.inodes);
    }
    for (const auto& [id, user] : result.users) {
        bytes_over -= static_cast<double>(user.due.bytes);
        inodes_over -= static_cast<double>(user.due.files);
    }
    for (Candidate& file : due_) result.list.entries.push_back(std::move(file.entry));
    std::ranges::sort(younger_, {}, [](const Candidate& file) {
        return std::pair(file.time, std::string_view(file.entry.path));
    });
    for (Candidate& file : younger_) {
        if (bytes_over <= 0 && inodes_over <= 0) break;
        result.users.at(file.entry.user).pressed.add(file.allocated_bytes);
        bytes_over -= static_cast<double>(file.allocated_bytes);
        inodes_over -= 1;
        if (file.links > 1) ++result.several_names;
        file.entry.pressed = true;
        if (with_list_) result.list.entries.push_back(std::move(file.entry));
    }
    std::ranges::sort(result.list.entries, {}, &PurgeEntry::path);
    return result;
}

Result<Survey> survey(const fs::path& directory, const RetentionPolicy& policy,
                      const SurveyOptions& options) {
    BELAY_TRY(root, core::Directory::open(directory));
    BELAY_TRY(spared, find_spared(policy));
    BELAY_TRY(occupancy, occupancy_of(root));
    const bool is_pressed = pressure_of(policy, occupancy) == Pressure::kPurge;
    const size_t threads = std::max<size_t>(options.threads, 1);
    std::vector<RetentionSums> sums(threads,
                                    RetentionSums(policy, options.now, is_pressed, options.with_list));
    BELAY_TRY(report, walk(root,
                           {.threads = threads,
                            .most_calls_per_second = options.most_calls_per_second,
                            .stop = options.stop},
                           [&](size_t thread, const Listing& listing) { sums[thread].add(listing); }));
    for (size_t thread = 1; thread < threads; ++thread) sums[0].add(std::move(sums[thread]));
    Survey result =
        std::move(sums[0]).finish(occupancy, spared, [](uint32_t user) { return core::user_name(user); });
    std::error_code code;
    const fs::path canonical = fs::canonical(directory, code);
    if (code) return core::errno_error(code, fmt::format("cannot tell the path of {}", directory.string()));
    result.list.root = canonical.string();
    result.list.made = options.now;
    result.list.time = policy.time;
    result.list.days = policy.days;
    result.list.ask_share = policy.ask_share.value_or(0);
    result.walk = std::move(report);
    if (auto note = note_on_times(root, policy.time)) result.notes.push_back(std::move(*note));
    if (result.several_names > 0)
        result.notes.push_back(
            fmt::format("{} of the files have other names too (hard links): their bytes become free with the "
                        "last of them",
                        result.several_names));
    if (result.walk.other_file_systems > 0)
        result.notes.push_back(fmt::format("{} directories belong to other file systems: not entered",
                                           result.walk.other_file_systems));
    return result;
}

}  // namespace belay::stage
