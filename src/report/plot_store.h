// What a report plots of each node: read from what a sealed record keeps of its samples, or made of them.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "report/measurements.h"

#include <filesystem>

namespace belay::report {

// Fills the plots of `data`, whose nodes, start and buckets are set: from the tables plot_series and
// plot_summary where the record keeps them for these buckets, or else as read_plots(). Errors: those of the
// archive.
core::Result<> query_plots(record::Archive& archive, Measurements& data);

// The first half of that: false, and `data` as it was, where the record keeps none that holds. Errors:
// kSystem.
core::Result<bool> load_plots(record::Archive& archive, Measurements& data);

// Writes the two tables beside those of the sealed record `record`, of which `archive` was opened, unless
// they are there already, or a table of which they are made cannot be read. Errors: kBadInput if it is not
// sealed; kSystem.
core::Result<> keep_plots(record::Archive& archive, const std::filesystem::path& record);

// Makes them tables for SQL, the kept ones or new ones. Errors: those of the archive.
core::Result<> add_plots(record::Archive& archive);

}  // namespace belay::report
