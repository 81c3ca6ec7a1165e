// What a record says of the run as a whole.
#pragma once

#include "core/error.h"
#include "findings/run.h"
#include "record/archive/archive.h"

namespace belay::findings {

inline constexpr double kMostBuckets = 600;  // rows of a series

// When the run was, and in which buckets it is followed: of the tables of the record and those of GPUs. It is
// the time that was sampled, or where nothing was, in which something happened: rules judge samples, and a
// report (report/query.cpp) or a score (score/digest_query.cpp) covers another time than this one
// (docs/decisions/0009). Errors: kSystem.
core::Result<Run> find_sampled_time(record::Archive& archive);

// When the start-up ended: of the prepared tables.
core::Result<> find_start_up(record::Archive& archive, Run& run);

// Rows of all tables there are, prepared ones too, and coverage of periodic ones.
core::Result<> count_rows(record::Archive& archive, Run& run);

}  // namespace belay::findings
