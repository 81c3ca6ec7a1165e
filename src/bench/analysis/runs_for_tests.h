// Runs as their logs would say them, for tests.
#pragma once

#include "bench/analysis/run.h"

#include <string>

namespace belay::bench {

struct MadeRun {
    std::string benchmark = "cosmoflow", platform = "alpha_x", division = "closed";
    double nodes = 4, accelerators = 4, batch = 64;
    double staging = 60, epochs = 10, epoch_seconds = 100, evaluation_share = 0.2, other = 5;
    double train_samples = 1000, eval_samples = 200;
    double start = 1000;
    bool success = true;
};

// Epochs count from 1, each with one evaluation.
inline RunInput make_run(const MadeRun& made, std::string file = "result_0.txt") {
    RunInput input;
    input.file = std::move(file);
    LogFacts& facts = input.facts;
    facts.benchmark = made.benchmark;
    facts.platform = made.platform;
    facts.division = made.division;
    facts.organisation = "Tests";
    facts.success = made.success;
    facts.run_start = made.start;
    facts.run_stop = made.start + made.staging + made.other + made.epochs * made.epoch_seconds;
    facts.staging_seconds = made.staging;
    facts.epochs_seconds = made.epochs * made.epoch_seconds;
    facts.evaluation_seconds = made.epochs * made.epoch_seconds * made.evaluation_share;
    facts.epochs = made.epochs;
    facts.evaluations = static_cast<int64_t>(made.epochs);
    facts.global_batch_size = made.batch;
    facts.train_samples = made.train_samples;
    facts.eval_samples = made.eval_samples;
    facts.nodes = made.nodes;
    facts.accelerators_per_node = made.accelerators;
    input.first_epoch = 1;
    return input;
}

}  // namespace belay::bench
