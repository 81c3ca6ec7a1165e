// When the files of a recording of gssr-record were written: each begins at 0, and only rank 0 says when that
// was.
#pragma once

#include "core/time.h"
#include "record/import/gssr_meta.h"
#include "record/import/gssr_rows.h"
#include "record/import/import.h"

#include <optional>
#include <string>
#include <vector>

namespace belay::record {

struct PlannedFile {
    GssrFile file;
    GssrSurvey survey;
    core::Time origin;  // time of its timestamp 0
    core::Time start;   // of its first window
    core::Time end;     // until when its node was held
};

struct PlannedStep {
    int64_t number = 0;
    std::optional<GssrMeta> meta;
    std::vector<PlannedFile> files;
    core::Time start;
    core::Time end;
    std::string name() const { return std::to_string(number); }
};

// The most frequent spacing of rows; 1 s if there is none.
core::Duration spacing_of(const std::vector<PlannedStep>& steps);

// Fills in the times. A step begins at the date of its metadata, or, if it has none, after the step before.
// Files of one step are moved by at most kFarthestMove, so that the GPUs' activity begins together: nothing
// else tells how the clocks of the recorders lie to each other. What was assumed is told in `defects`.
void place_in_time(std::vector<PlannedStep>& steps, core::Duration spacing, std::vector<Defect>& defects);

// Slurm starts the tasks of a step within seconds; what is farther apart than this is a difference of the
// work.
inline constexpr core::Duration kFarthestMove = std::chrono::seconds(30);

}  // namespace belay::record
