#include "core/time.h"
#include "stage/lint/series.h"

#include <nlohmann/json.hpp>

namespace belay::stage {

namespace {

using nlohmann::ordered_json;

template <typename T>
ordered_json or_null(const std::optional<T>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
}

}  // namespace

ordered_json to_json(const CheckpointSeries& series) {
    ordered_json rows = ordered_json::array();
    for (const Checkpoint& checkpoint : series.checkpoints) {
        ordered_json problems = ordered_json::array();
        for (const CheckpointProblem& problem : checkpoint.problems)
            problems.push_back({{"state", to_text(problem.state)}, {"what", problem.what}});
        rows.push_back(
            {{"name", checkpoint.name},
             {"step", or_null(checkpoint.step)},
             {"format", checkpoint.format.empty() ? ordered_json(nullptr) : ordered_json(checkpoint.format)},
             {"ranks", or_null(checkpoint.ranks)},
             {"state", to_text(checkpoint.state)},
             {"files", checkpoint.files},
             {"bytes", checkpoint.bytes},
             {"modified", core::format_time(core::time_from_nanoseconds(checkpoint.modified))},
             {"problems", problems},
             {"notes", checkpoint.notes}});
    }
    const Checkpoint* newest = newest_complete(series.checkpoints);
    return {{"checkpoints", rows},
            {"newest_complete", newest != nullptr ? ordered_json(newest->name) : ordered_json(nullptr)},
            {"notes", series.notes}};
}

ordered_json to_json(const KeepPlan& plan) {
    ordered_json rows = ordered_json::array();
    for (const KeepLine& line : plan.lines)
        rows.push_back({{"name", line.name},
                        {"step", or_null(line.step)},
                        {"state", to_text(line.state)},
                        {"bytes", line.bytes},
                        {"action", to_text(line.action)},
                        {"reason", line.reason}});
    return {{"plan", rows}, {"freed_bytes", plan.freed_bytes}};
}

}  // namespace belay::stage
