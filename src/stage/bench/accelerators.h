// Emulated accelerators in one epoch: readers that fill batches, and consumers that sleep for as long as an
// accelerator would compute.
#pragma once

#include "stage/bench/bench_plan.h"
#include "stage/bench/workload.h"

#include <functional>
#include <span>
#include <vector>

namespace belay::stage {

struct EmulatedLoop {
    uint64_t accelerators = 1;
    uint64_t batch = 1;          // samples of one step of one accelerator
    uint64_t readers = 1;        // threads of each accelerator
    uint64_t ahead_samples = 1;  // that its readers have taken before it did, at most
    bool reads_in_step = false;  // as a program without a loader: nothing is read while it computes
    double compute_seconds = 0;  // of one step
};

// Reads one sample and throws it away. Readers are counted over all accelerators, from 0.
using ReadSample = std::function<core::Result<>(size_t reader, const SampleRead& sample)>;

struct EmulatedEpoch {
    std::vector<Utilisation> blocks = {};  // one of each accelerator
    double seconds = 0;
};

// Errors: those of `read`; kCancelled once the run is stopped.
core::Result<EmulatedEpoch> run_emulated_epoch(const BenchRun& run, const EmulatedLoop& loop,
                                               std::span<const SampleRead> reads, const ReadSample& read);

}  // namespace belay::stage
