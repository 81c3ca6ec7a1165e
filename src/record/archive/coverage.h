// Coverage: which share of the samples that were due is in the record.
#pragma once

#include "record/archive/database.h"
#include "record/sample_counts.h"
#include "stream/segment.h"

#include <vector>

namespace belay::record {

// From the `coverage` table of the database.
core::Result<SampleCounts> read_sample_counts(Database& database);

// A recorder counts its samples as it goes; one that was killed leaves the time from then on uncounted. For
// each segment without an end, and each table that is due on its node, this adds rows to `coverage` from its
// last count to the next start of a recorder on the node or, if there was none, to the latest time in the
// record. A damaged segment is counted anew, by the rows that are left of it.
core::Result<> count_what_was_never_taken(Database& database,
                                          const std::vector<stream::SegmentSummary>& segments);

}  // namespace belay::record
