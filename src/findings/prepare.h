// Tables that are made once before the rules run, so that no rule reads the millions of rows of a long job:
// of GPUs (from the digest of a record, which the face hands in) and of hosts, processes and steps (from
// SQL).
#pragma once

#include "core/error.h"
#include "findings/run.h"
#include "record/archive/archive.h"

#include <functional>

namespace belay::findings {

// Fills the three tables of GPUs (schema/tables/gpu_digest.h) by Archive::add(); does nothing for a record
// without GPUs.
using PrepareGpus = std::function<core::Result<>(record::Archive&)>;

// When the run was and in which buckets it is followed; the tables of GPUs are made on the way. Errors: as
// prepare().
core::Result<Run> find_run(record::Archive& archive, const PrepareGpus& prepare_gpus);

// Makes all prepared tables of the archive and says what the run was like. Errors: kSystem, and those of
// `prepare_gpus`, which may be empty.
core::Result<Run> prepare(record::Archive& archive, const PrepareGpus& prepare_gpus);

}  // namespace belay::findings
