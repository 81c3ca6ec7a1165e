// STREAM's triad (J. McCalpin, https://www.cs.virginia.edu/stream/): the bandwidth of main memory.
#pragma once

#include "core/error.h"

#include <cstddef>

namespace belay::kernels {

struct TriadOptions {
    size_t array_bytes = size_t{64} << 20;  // of each of the three arrays
    int threads = 0;                        // 0: one for each usable CPU
    int repeats = 5;                        // timed runs after one that is not
};

// Bytes per second, 24 per element, of the best run. Errors: kBadInput for options out of range (array of 1
// KiB to 64 GiB, 1 to 1024 threads, 1 to 1000 repeats), kSystem if memory or threads are not to be had or a
// result is wrong.
core::Result<double> measure_triad(const TriadOptions& options);

}  // namespace belay::kernels
