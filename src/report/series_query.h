// The part of the queries that follows quantities per node over time.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "report/measurements.h"

namespace belay::report {

// Fills the metrics of `data`, whose nodes, start and buckets are set. Each sample stands for the time since
// the one before it: counters become rates over that time, and a bucket's value is the mean over the part of
// it that samples stand for. Where samples are more than kLongestStep intervals apart, where a counter went
// back, and where a source has nothing, values are missing. Of a table with more than `many_rows`, of which a
// few seconds are enough to read, about ten samples for each bucket are taken: counters stay exact, peaks are
// those of the samples that were taken. Errors: those of the archive.
core::Result<> query_series(record::Archive& archive, double interval_seconds, Measurements& data,
                            double many_rows = 5e6);

}  // namespace belay::report
