// What a job's programs did on each file system, where that was traced (the table io).
#pragma once

#include "record/archive/archive.h"
#include "report/model.h"

namespace belay::report {

// A line for each file system, of all nodes together, that in which most time went first. Errors: kSystem,
// kBadInput, as of a query.
core::Result<FactGroup> traced_io(record::Archive& archive);

}  // namespace belay::report
