// The library behind networks (libtorch), set up for a process.
#pragma once

namespace belay::bench {

// `threads`: of this process, for all networks in it. Set before the first network is made, and fixed, since
// the number of threads decides the order of sums. Also asks libtorch for deterministic algorithms.
void prepare_library(int threads);

}  // namespace belay::bench
