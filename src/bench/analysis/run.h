// One run: where its time went. From what its log says (compliance/check.h) and how its log was found.
#pragma once

#include "bench/compliance/check.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

// One epoch of a run, for those who want to look into it. Seconds since run_start; unknown is nothing.
struct EpochRecord {
    double number = 0;
    std::optional<double> start, seconds, evaluation_seconds, metric;
};

// A run as it comes in.
struct RunInput {
    std::string file;
    LogFacts facts;
    std::optional<double>
        first_epoch;  // epoch_num of the first epoch: some count from 0, and then have one epoch more
    std::vector<EpochRecord> epochs;  // may be empty
    bool reached_target = false;      // the last result of the log is as good as the benchmark wants
    // Of a submission package; empty or nothing elsewhere.
    std::string system, submitter, scaling;  // scaling: "strong" or "weak"
    // By the system's description: units of the nodes that the log names, where it names no accelerators; nodes.
    std::optional<double> units;
    std::optional<double> nodes;
    bool staging_moves_data =
        true;  // false: staging_start and staging_stop were logged, but nothing was copied
};

// Seconds and samples. What was not logged is nothing.
struct Run {
    std::string file;
    bool success = false;
    std::string missing;                // what keeps it out of the means; empty if nothing
    std::optional<double> start, stop;  // since 1970
    std::optional<double> seconds;      // T_run
    std::optional<double> staging, epochs_seconds, evaluation, training, other;
    std::optional<double> epochs, evaluations;
    std::optional<double> train_samples, eval_samples;

    std::optional<double> epoch_seconds;      // epochs_seconds / epochs
    std::optional<double> epoch_throughput;   // epochs per second
    std::optional<double> samples_per_epoch;  // floor(n_t + V/E * n_e)
    std::optional<double> sample_throughput;  // samples_per_epoch * epoch_throughput, per second
    std::optional<double> train_throughput, evaluation_throughput, staging_throughput;  // samples per second
    std::optional<double>
        model_seconds;  // T_staging + E * samples per epoch / throughput: what explains T_run
    std::optional<double> unit_hours;
    std::optional<double> data_wait, exposed_communication;  // seconds per step
    std::vector<EpochRecord> records;
};

// nodes * accelerators of each, or else `units`, which are host processors where there are no accelerators, or else
// nodes; nothing where none is known.
std::optional<double> compute_units(const RunInput& input);

// Never fails: `missing` says what the log lacks.
Run decompose(const RunInput& input);

// Repeats everything but staging `factor` times, as a submission that converged too fast was adjusted (Fugaku-512 of v0.7:
// mean epochs of the reference over those of the submission): epochs, evaluations and all times but staging.
Run adjust(const Run& run, double factor, std::optional<double> units);

// The epochs of a log, with the metric that `eval_error` or `eval_accuracy` reported. `bytes` may be anything; at most
// `most` epochs are read.
std::vector<EpochRecord> read_epochs(std::string_view bytes, size_t most = 10'000);

}  // namespace belay::bench
