// What an MLLOG event tells about progress.
#pragma once

#include "progress/mllog.h"
#include "progress/progress_event.h"

#include <optional>

namespace belay::progress {

inline constexpr size_t kLongestText = 4096;

// eval_error and eval_accuracy are evaluations; train_loss, and tracked_stats whose value is an object with
// numbers of known names, are training; all else is a mark with its value. Epoch, step and samples come from
// the metadata, counted as the program counts them. Nothing for an event without key.
std::optional<ProgressEvent> progress_of(const MllogEvent& event);

}  // namespace belay::progress
