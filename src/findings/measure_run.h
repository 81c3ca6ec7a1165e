// What a record says of the run as a whole.
#pragma once

#include "core/error.h"
#include "findings/run.h"
#include "record/archive/archive.h"

namespace belay::findings {

inline constexpr double kMostBuckets = 600;  // rows of a series

// When the run was, and in which buckets it is followed: of the tables of the record and those of GPUs.
// Errors: kSystem.
core::Result<Run> find_span(record::Archive& archive);

// When the start-up ended: of the prepared tables.
core::Result<> find_start_up(record::Archive& archive, Run& run);

// Rows of all tables there are, prepared ones too, and coverage of periodic ones.
core::Result<> count_rows(record::Archive& archive, Run& run);

}  // namespace belay::findings
