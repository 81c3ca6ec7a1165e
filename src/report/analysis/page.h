// The joint analysis of benchmark runs as one HTML file, made of the report's parts: nothing is fetched.
#pragma once

#include "bench/analysis/analysis.h"

#include <string>
#include <string_view>

namespace belay::report {

// Runs whose epochs the page holds, for a look into each; of more runs, it holds what they come to.
inline constexpr size_t kMostRunsWithEpochs = 400;

// `text` is the same as text, for readers without scripts. Names out of logs are only ever data.
std::string render_analysis(const bench::Analysis& analysis, std::string_view text);

}  // namespace belay::report
