// When a record begins and ends.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "record/archive/archive.h"

#include <optional>

namespace belay::record {

struct RecordedSpan {
    core::Time first;
    core::Time last;
};

// From the first to the last moment of which the record has a row, but for the tables of GPUs, whose digest
// knows its own. Times that are shown to people count from the first. What the training program says about
// time is not asked, since its clock may be wrong; what came after the record was sealed does not make the
// job longer. Nothing where no row has a time. Errors: kBadInput for damaged tables; kSystem.
core::Result<std::optional<RecordedSpan>> recorded_span(Archive& archive);

}  // namespace belay::record
