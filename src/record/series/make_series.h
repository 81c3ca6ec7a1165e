// A table of series (schema/tables/sampled_series.h) made of a record's samples: a row for each span of time
// and each thing that is sampled by itself, by the rule of spans.h.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "record/series/spans.h"
#include "schema/schema.h"
#include "stream/batch.h"

#include <string>
#include <vector>

namespace belay::record {

// `nodes`: those of the record, by which the work is shared out. Errors: kBadInput for damaged tables;
// kSystem.
core::Result<stream::Batch> make_series(Archive& archive, const schema::SeriesTable& series,
                                        const SpanFrame& frame, std::vector<std::string> nodes);

}  // namespace belay::record
