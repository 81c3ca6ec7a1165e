// Beginning the record of a step on a node, which must not keep the step from starting.
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <functional>

namespace belay::step {

inline constexpr core::Duration kRecordTime = std::chrono::seconds(15);

// Runs `begin` in a process that can be given up: a file system that does not answer fails as one that is
// full. Errors: those of `begin`, with their kind; kSystem if it took longer.
core::Result<> begin_in_time(const std::function<core::Result<>()>& begin,
                             core::Duration longest = kRecordTime);

}  // namespace belay::step
