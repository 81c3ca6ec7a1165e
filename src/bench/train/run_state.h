// A training run's state, between a network on every rank and a checkpoint at one place (../optimize/checkpoint.h).
#pragma once

#include "bench/train/group.h"
#include "bench/train/trainer.h"

namespace belay::bench {

// Where in a run the next step is: steps done, and the epoch it is in.
struct RunPlace {
    int64_t step = 0;
    int epoch = 1;  // from 1
    int64_t step_of_epoch = 0;
};

// Writes options.checkpoint from rank 0; the ranks call it together. Errors: of the group; kSystem.
core::Result<> save_run(const Model& model, const RunOptions& options, Network& network, Group& group,
                        const RunPlace& place);

// Sets network and optimizer of every rank to what rank 0 finds in options.checkpoint; where there is none, the run
// begins as it would without. Parameters are set on rank 0 only. Errors: of the group; kBadInput for a checkpoint of
// another run, naming what differs.
core::Result<RunPlace> resume_run(const Model& model, const RunOptions& options, Network& network,
                                  Group& group);

}  // namespace belay::bench
