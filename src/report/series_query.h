// The part of the queries that follows quantities per node over time.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "report/measurements.h"

namespace belay::report {

// Fills the metrics of `data`, whose nodes, start and buckets are set, by the rule of record/series/spans.h.
// Where a source has nothing, values are missing. Errors: those of the archive.
core::Result<> query_series(record::Archive& archive, double interval_seconds, Measurements& data);

}  // namespace belay::report
