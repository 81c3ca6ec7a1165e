// A segment in a record.
#pragma once

#include "core/directory.h"
#include "stream/segment.h"

#include <string_view>

namespace belay::record {

// Creates segments/NAME, which must not exist, with its session block; whoever may read the record may read
// it. Errors: kBadInput for a link in its way; kSystem.
core::Result<stream::SegmentWriter> new_segment(const core::Directory& record, std::string_view name,
                                                const stream::Session& session);

}  // namespace belay::record
