// An environment as EDF text again: merged and expanded, with nothing left to look up, so that it can be kept
// beside a job and used again.
#pragma once

#include "env/environment.h"

namespace belay::env {

// With `explain`, each value is followed by a comment that says where it was written. Reading the text gives
// the same environment.
std::string to_edf(const Environment& environment, const std::map<std::string, std::string>& variables,
                   bool explain);

}  // namespace belay::env
