#include "core/units.h"
#include "stage/scan/scan.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace belay::stage {

namespace {

using nlohmann::ordered_json;

ordered_json number(double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}
ordered_json number(const std::optional<double>& value) {
    return value ? number(*value) : ordered_json(nullptr);
}

ordered_json histogram(const std::array<Amount, kSizeBuckets>& sizes) {
    ordered_json rows = ordered_json::array();
    for (size_t bucket = 0; bucket < sizes.size(); ++bucket) {
        if (sizes[bucket].files == 0) continue;
        const uint64_t from = bucket == 0 ? 0 : uint64_t{1} << (bucket - 1);
        const ordered_json to = bucket == 0    ? ordered_json(1)
                                : bucket == 64 ? ordered_json(nullptr)
                                               : ordered_json(uint64_t{1} << bucket);
        rows.push_back(
            {{"from", from}, {"to", to}, {"files", sizes[bucket].files}, {"bytes", sizes[bucket].bytes}});
    }
    return rows;
}

ordered_json ages(const std::array<Amount, kAgeBuckets>& amounts) {
    ordered_json rows = ordered_json::array();
    for (size_t bucket = 0; bucket < amounts.size(); ++bucket)
        rows.push_back(
            {{"from_days", bucket == 0 ? 0 : kAgeDays[bucket - 1]},
             {"to_days", bucket < kAgeDays.size() ? ordered_json(kAgeDays[bucket]) : ordered_json(nullptr)},
             {"files", amounts[bucket].files},
             {"bytes", amounts[bucket].bytes}});
    return rows;
}

}  // namespace

ordered_json to_json(const Scan& scan) {
    const TreeSums& sums = scan.sums;
    ordered_json users = ordered_json::array();
    for (const auto& [user, amount] : sums.users)
        users.push_back({{"uid", user}, {"files", amount.files}, {"bytes", amount.bytes}});
    ordered_json problems = ordered_json::array();
    for (const WalkProblem& problem : scan.walk.problems)
        problems.push_back(
            {{"path", problem.path}, {"why", std::generic_category().message(problem.errno_value)}});
    return {
        {"files", sums.files.files},
        {"bytes", sums.files.bytes},
        {"allocated_bytes", sums.allocated_bytes},
        {"directories", scan.walk.directories},
        {"links", sums.links},
        {"others", sums.others},
        {"sparse_files", sums.sparse_files},
        {"hard_linked", {{"names", sums.linked_files}, {"files", sums.linked_inodes.size()}}},
        {"histogram", histogram(sums.sizes)},
        {"accessed", ages(sums.accessed)},
        {"modified", ages(sums.modified)},
        {"users", users},
        {"files_at_depth", sums.files_at_depth},
        {"fullest_directory", {{"path", sums.fullest_directory}, {"entries", sums.most_entries}}},
        {"duplicates",
         {{"compared_files", scan.duplicates.compared_files},
          {"files", scan.duplicates.files},
          {"bytes", scan.duplicates.bytes}}},
        {"compressed_share", number(scan.compressed_share)},
        {"open_seconds", number(scan.open_seconds)},
        {"read_bytes_per_second", number(scan.speed.read_bytes_per_second)},
        {"scan",
         {{"seconds", scan.walk.seconds},
          {"calls", scan.walk.calls},
          {"other_file_systems", scan.walk.other_file_systems},
          {"problem_count", scan.walk.problem_count},
          {"problems", problems}}},
        {"epochs", scan.cost_input.epochs},
        {"workers", scan.cost_input.workers},
        {"predicted_epoch_seconds", number(scan.cost.loose_epoch_seconds)},
        {"predicted_packed_epoch_seconds", number(scan.cost.packed_epoch_seconds)},
        {"predicted_pack_seconds", number(scan.cost.pack_seconds)},
        {"predicted_local_epoch_seconds", number(scan.cost.local_epoch_seconds)},
        {"break_even_epochs", number(scan.cost.break_even_epochs)},
        {"verdict", to_text(scan.cost.verdict)},
        {"reasons", scan.cost.reasons},
    };
}

}  // namespace belay::stage
