// What several nodes measured at once, as one report. Pure.
#pragma once

#include "stage/bench/bench.h"

#include <span>
#include <string>
#include <vector>

namespace belay::stage {

// The results of a report of to_json(), which another node sent. Errors: kBadInput for anything else.
core::Result<BenchReport> results_from_json(std::string_view text);

// Of the same tests, by rank. Amounts add up, over the time until the last node was done: so a slow node
// shows. A percentile of times is the highest of any node; means are over all. Utilisation is the mean,
// weighted by steps; it passes where each node's does. Errors: kBadInput where a node measured something
// else.
core::Result<BenchReport> together(std::span<const BenchReport> reports, std::span<const std::string> nodes);

}  // namespace belay::stage
