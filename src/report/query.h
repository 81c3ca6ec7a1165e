// From a job record to a report.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "report/measurements.h"

namespace belay::report {

// Points of a chart, at most: more than a screen has columns for one.
inline constexpr size_t kMostPoints = 600;
// Cells (nodes × buckets) per metric, at most, as long as a node keeps 60 buckets.
inline constexpr size_t kMostCells = 200'000;

// The nodes and the buckets of time, with nothing in them. Errors: those of the archive.
core::Result<Measurements> measure_axes(record::Archive& archive);

// Reads everything that the report shows. A record without rows, or with only some of the tables, gives
// measurements with less in them. Errors: those of the archive.
core::Result<Measurements> measure(record::Archive& archive);

// assemble(measure(archive)).
core::Result<ReportModel> build_model(record::Archive& archive);

}  // namespace belay::report
