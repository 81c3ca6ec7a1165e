// The part of the queries that reads what the training program printed.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "report/measurements.h"

namespace belay::report {

// Fills `progress` and `progress_facts` of `data`, whose start and length are set. Where several ranks print
// the same, the one that printed most is taken. More than kMostPoints lines are averaged. Lines whose time is
// outside the recorded time are left out. Errors: those of the archive.
core::Result<> query_progress(record::Archive& archive, Measurements& data);

}  // namespace belay::report
