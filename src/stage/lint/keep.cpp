#include "stage/lint/keep.h"

#include <algorithm>
#include <array>

namespace belay::stage {

namespace {

// By steps where both are known.
bool is_newer(const Checkpoint& a, const Checkpoint& b) {
    if (a.step && b.step && *a.step != *b.step) return *a.step > *b.step;
    if (a.step.has_value() != b.step.has_value()) return a.step.has_value();
    return a.modified != b.modified ? a.modified > b.modified : a.name > b.name;
}

bool is_complete(const Checkpoint& checkpoint) {
    return checkpoint.state == CheckpointState::kComplete;
}

}  // namespace

std::string_view to_text(KeepAction action) {
    static constexpr std::array<std::string_view, 3> kNames = {"keep", "remove", "leave"};
    return kNames[static_cast<size_t>(action)];
}

void sort_newest_first(std::vector<Checkpoint>& checkpoints) {
    std::ranges::sort(checkpoints, is_newer);
}

const Checkpoint* newest_complete(const std::vector<Checkpoint>& checkpoints) {
    const Checkpoint* newest = nullptr;
    for (const Checkpoint& checkpoint : checkpoints)
        if (is_complete(checkpoint) && (newest == nullptr || is_newer(checkpoint, *newest)))
            newest = &checkpoint;
    return newest;
}

core::Result<KeepPlan> plan_keep(std::vector<Checkpoint> checkpoints, const KeepRule& rule) {
    if (rule.last == 0)
        return core::bad_input("--last 0: the newest complete checkpoint is always kept")
            .hint("write 1 or more");
    if (rule.every && *rule.every < 1)
        return core::bad_input("--every {}: is not a number of steps", *rule.every).hint("write 1 or more");
    sort_newest_first(checkpoints);
    KeepPlan plan;
    size_t complete = 0;
    const bool any_complete = newest_complete(checkpoints) != nullptr;
    const bool has_steps =
        std::ranges::any_of(checkpoints, [](const Checkpoint& each) { return each.step.has_value(); });
    for (const Checkpoint& checkpoint : checkpoints) {
        KeepLine line{.name = checkpoint.name,
                      .step = checkpoint.step,
                      .state = checkpoint.state,
                      .bytes = checkpoint.bytes};
        auto decide = [&](KeepAction action, std::string reason) {
            line.action = action;
            line.reason = std::move(reason);
        };
        const bool is_nth = rule.every && checkpoint.step && *checkpoint.step % *rule.every == 0;
        if (has_steps && !checkpoint.step) {
            // A final model beside the steps, or what training began from.
            decide(KeepAction::kLeave, "no step says where in the series it belongs");
        } else if (is_complete(checkpoint)) {
            ++complete;
            if (complete == 1)
                decide(KeepAction::kKeep, "the newest complete one");
            else if (complete <= rule.last)
                decide(KeepAction::kKeep, fmt::format("one of the last {}", rule.last));
            else if (is_nth)
                decide(KeepAction::kKeep, fmt::format("its step is a multiple of {}", *rule.every));
            else
                decide(KeepAction::kRemove, rule.last == 1
                                                ? "a newer complete one is kept"
                                                : fmt::format("{} newer complete ones are kept", rule.last));
        } else if (!any_complete) {
            decide(KeepAction::kLeave, "there is no complete one");
        } else if (checkpoint.state == CheckpointState::kForeign) {
            decide(KeepAction::kLeave, "another job may need it");
        } else if (complete == 0) {
            decide(KeepAction::kLeave, "is newer than the newest complete one: it may still be written");
        } else {
            decide(KeepAction::kRemove,
                   fmt::format("is {}, and a newer one is complete", to_text(checkpoint.state)));
        }
        if (line.action == KeepAction::kRemove && checkpoint.name == ".")
            decide(KeepAction::kLeave, "is the directory itself");
        if (line.action == KeepAction::kRemove) plan.freed_bytes += line.bytes;
        plan.lines.push_back(std::move(line));
    }
    return plan;
}

}  // namespace belay::stage
