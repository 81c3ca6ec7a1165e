// The part of the queries that follows quantities per node over time.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "record/series/spans.h"
#include "report/measurements.h"

namespace belay::report {

// The buckets of a report whose nodes, start and buckets are set.
record::SpanFrame frame_of(const Measurements& data);

// Fills the plots of `data`, whose nodes, start and buckets are set, from the samples, by the rule of
// record/series/spans.h. Where a source has nothing, values are missing. Errors: those of the archive.
core::Result<> read_plots(record::Archive& archive, Measurements& data);

}  // namespace belay::report
