// A training run of a model from the first log line to the last: the loop around its network, its data and
// the group.
#pragma once

#include "bench/parallel/buckets.h"
#include "bench/train/group.h"
#include "bench/train/mllog_output.h"
#include "bench/train/model.h"
#include "core/error.h"
#include "core/time.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace belay::bench {

struct RunOptions {
    Profile profile;  // the model's, with sizes, target, epochs and threads as the person changed them
    uint64_t seed = 1;
    DataSource data;
    int64_t steps = 0;      // end after so many optimiser steps, without evaluation; 0: at the target
    int64_t log_steps = 0;  // steps between two tracked_stats; 0: about a second
    std::filesystem::path weights_out;  // all parameters as raw float32, from rank 0; empty: none
    int64_t fail_at_step = 0;           // for tests: end with an error before this step; 0: never
    int fail_rank = 0;                  // on this rank

    // How ranks add up gradients (gradient_exchange.h).
    size_t bucket_bytes = kBucketBytes;
    bool overlap = true;
    int split = 1;  // so many neighbouring ranks share each sample (Model::make_network_part)

    std::filesystem::path checkpoint;  // written by rank 0; empty: none
    int64_t checkpoint_every = 0;      // steps; 0: at the end of each epoch
    bool resume = false;               // go on from `checkpoint`, if it is there

    // Where data.directory is copied to as the first thing after run_start (stage_together()); empty: it is not.
    std::filesystem::path stage_to;
};

struct Outcome {
    bool target_reached = false;
    int epochs = 0;                 // finished
    double metric = 0;              // of the model, at the last evaluation; NaN if there was none
    double seconds = 0;             // run_start to run_stop
    double samples_per_second = 0;  // of training, over all ranks, evaluation left out
    std::string weights_digest;     // the same on every rank
    double staging_seconds = 0;
    // Of this rank, in training: how long it waited for its next batch, and for sums after its own gradients were
    // computed.
    double data_wait_seconds = 0, exposed_communication_seconds = 0;
    int64_t resumed_from_step = 0;
};

// Whether the batch divides over the ranks and the samples fit into memory: asked before the ranks meet, so
// that all of them say the same. Errors: kBadInput.
core::Result<> check_sizes(const Model& model, const RunOptions& options, int ranks, int nodes);

// Trains until the target is met, or for the epochs or steps given. `nodes` is for the log. Errors: kBadInput
// if sizes do not fit (batch over ranks, samples into memory), kNegative if the loss is no longer a number,
// kSystem if a rank is lost or the ranks' weights differ at the end; of data and checkpoints, as they are read.
core::Result<Outcome> run_training(const Model& model, const RunOptions& options, Group& group, int nodes,
                                   MllogOutput& log, const core::Clock& clock);

}  // namespace belay::bench
