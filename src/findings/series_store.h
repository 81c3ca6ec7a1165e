// The series of hosts, processes, interfaces and disks for the rules: those that a sealed record keeps beside
// its tables, or else what record/series makes of its samples.
#pragma once

#include "core/error.h"
#include "findings/prepare.h"
#include "findings/run.h"
#include "record/archive/archive.h"

#include <filesystem>

namespace belay::findings {

// Makes the tables of schema/tables/sampled_series.h tables for SQL. Errors: kBadInput for damaged samples;
// kSystem.
core::Result<> add_series(record::Archive& archive, const Run& run);
// The same without a run: of all of the record. Errors: those of `prepare_gpus` too.
core::Result<> add_series(record::Archive& archive, const PrepareGpus& prepare_gpus);

// Writes them beside the tables of the sealed record `record`, of which `archive` was opened, unless they are
// there already. Errors: kBadInput if it is not sealed, or a table of it cannot be read; kSystem.
core::Result<> keep_series(record::Archive& archive, const std::filesystem::path& record,
                           const PrepareGpus& prepare_gpus);

}  // namespace belay::findings
