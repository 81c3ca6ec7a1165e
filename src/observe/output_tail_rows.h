// What a task printed last, as rows of the record.
#pragma once

#include "observe/placement.h"
#include "progress/output_tail.h"
#include "stream/batch.h"

#include <string_view>

namespace belay::observe {

inline constexpr std::string_view kStandardOutput = "standard output";
inline constexpr std::string_view kStandardError = "standard error";

void add_output_tail(stream::Batch& rows, const progress::OutputTail& tail, std::string_view stream,
                     core::Time time, const Placement& placement);

}  // namespace belay::observe
