// The part of the queries that finds out what ran where, and how it ended.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "report/measurements.h"

namespace belay::report {

// Fills `job`, `facts` and `producer` of `data`, whose nodes are set. Errors: those of the archive.
core::Result<> query_facts(record::Archive& archive, const record::RecordInfo& info, Measurements& data);

}  // namespace belay::report
