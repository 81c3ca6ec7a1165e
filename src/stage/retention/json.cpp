#include "stage/retention/survey.h"

#include <nlohmann/json.hpp>

namespace belay::stage {

namespace {

using nlohmann::ordered_json;

template <typename T>
ordered_json optional_json(const std::optional<T>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json count_json(const FileCount& count) {
    return {{"files", count.files}, {"bytes", count.bytes}};
}

ordered_json share_json(uint64_t used, const std::optional<uint64_t>& quota) {
    return quota && *quota > 0 ? ordered_json(static_cast<double>(used) / static_cast<double>(*quota))
                               : ordered_json(nullptr);
}

}  // namespace

ordered_json to_json(const Survey& survey, const RetentionPolicy& policy) {
    ordered_json users = ordered_json::array();
    FileCount due;
    FileCount pressed;
    for (const auto& [id, user] : survey.counts.users) {
        due.add(user.due);
        pressed.add(user.pressed);
        users.push_back({{"uid", id},
                         {"user", user.name},
                         {"spared", user.spared},
                         {"all", count_json(user.all)},
                         {"due", count_json(user.due)},
                         {"pressed", count_json(user.pressed)},
                         {"soon", count_json(user.soon)},
                         {"exempt", count_json(user.exempt)},
                         {"quota_bytes_share", share_json(user.all.bytes, policy.quota_bytes)},
                         {"quota_inodes_share", share_json(user.all.files, policy.quota_inodes)}});
    }
    ordered_json expiring = ordered_json::array();
    for (const auto& [days, count] : survey.counts.expiring)
        expiring.push_back({{"days", days}, {"files", count.files}, {"bytes", count.bytes}});
    ordered_json soonest = ordered_json::array();
    for (const ExpiringFile& file : survey.counts.soonest)
        soonest.push_back({{"path", escape_path(file.path)}, {"uid", file.user}, {"days", file.days}});
    ordered_json problems = ordered_json::array();
    for (const WalkProblem& problem : survey.walk.problems)
        problems.push_back({{"path", escape_path(problem.path)},
                            {"why", std::generic_category().message(problem.errno_value)}});
    return {
        {"root", escape_path(survey.list.root)},
        {"made", core::format_time(survey.list.made)},
        {"timestamp", to_text(policy.time)},
        {"timestamp_meaning", meaning_of(policy.time)},
        {"older_than_days", policy.days},
        {"warn_days", policy.warn_days},
        {"occupancy",
         {{"bytes_share", survey.occupancy.bytes_share}, {"inodes_share", survey.occupancy.inodes_share}}},
        {"watermarks",
         {{"ask", optional_json(policy.ask_share)},
          {"purge", optional_json(policy.purge_share)},
          {"state", to_text(survey.pressure)}}},
        {"due", count_json(due)},
        {"pressed", count_json(pressed)},
        {"users", users},
        {"expiring", expiring},
        {"soonest", soonest},
        {"warnings", survey.warnings},
        {"notes", survey.notes},
        {"directories", survey.walk.directories},
        {"problem_count", survey.walk.problem_count},
        {"problems", problems}};
}

}  // namespace belay::stage
