#pragma once

#include "core/time.h"
#include "progress/progress_event.h"
#include "stream/batch.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::observe {

// One row of the table `progress`. An event without a time of its own gets `now`.
void add_progress_row(stream::Batch& rows, const progress::ProgressEvent& event, core::Time now,
                      std::string_view node, std::optional<int64_t> task);

}  // namespace belay::observe
