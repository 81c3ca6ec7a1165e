// How far apart the samples of a record are.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "schema/schema.h"

namespace belay::record {

// Seconds between two samples, of one periodic table or, without one, of all: as its recorders counted them,
// or else as the manifest says, or else the usual distance of the table's samples; 1 where nothing tells.
// Errors: kBadInput for damaged tables; kSystem.
core::Result<double> sampling_interval(Archive& archive, const schema::Table* of = nullptr);

}  // namespace belay::record
