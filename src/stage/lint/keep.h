// Which checkpoints of a series to keep: the last k, every n-th, and never without the newest complete one.
// Pure; a plan is all that it makes.
#pragma once

#include "stage/lint/checkpoint.h"

namespace belay::stage {

struct KeepRule {
    size_t last = 1;                    // complete ones
    std::optional<int64_t> every = {};  // and those whose step is a multiple of it
};

// kLeave: nothing is said of it: it may still be written, or is another's.
enum class KeepAction { kKeep, kRemove, kLeave };
std::string_view to_text(KeepAction action);

struct KeepLine {
    std::string name;
    std::optional<int64_t> step = {};
    CheckpointState state = CheckpointState::kComplete;
    uint64_t bytes = 0;
    KeepAction action = KeepAction::kKeep;
    std::string reason;
};

struct KeepPlan {
    std::vector<KeepLine> lines = {};  // the newest first
    uint64_t freed_bytes = 0;
};

// By their steps, and by their times where those are not known.
void sort_newest_first(std::vector<Checkpoint>& checkpoints);
// The newest complete one.
const Checkpoint* newest_complete(const std::vector<Checkpoint>& checkpoints);

// Without a complete one nothing is to be removed, nor what has no step where others have one. What is not
// complete and older than the newest complete one is. Errors: kBadInput for `last` 0 or an `every` below 1.
core::Result<KeepPlan> plan_keep(std::vector<Checkpoint> checkpoints, const KeepRule& rule);

}  // namespace belay::stage
