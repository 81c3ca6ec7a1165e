// The two scores of MLPerf HPC: time to train (rules before 3.0: strong scaling) and throughput (weak scaling).
// hpc_training_rules.adoc of mlcommons/training_policies; the arithmetic is that of result_summarizer.py in
// mlcommons/logging 4.1.59.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belay::bench {

// A run as the scores see it. Times in minutes; unknown is nothing.
struct ScoredRun {
    bool compliant = false;
    std::optional<double> minutes;      // run_start to run_stop
    std::optional<double> start, stop;  // since 1970
    std::optional<double> staging;
    bool staging_in_run = true;          // else it came before run_start
    std::optional<double> accelerators;  // of this instance: nodes * max(accelerators of a node, 1)
    bool counts() const { return compliant && minutes && std::isfinite(*minutes); }
};

struct TimeToTrain {
    std::optional<double> minutes;  // without a scaling factor; nothing if more than one run was dropped
    size_t dropped = 0;             // runs that do not count, as the slowest
    // Of the same runs; nothing unless each of them logs when it staged.
    std::optional<double> minutes_with_staging, minutes_without_staging;
};

// The mean without the fastest and the slowest run, which is one that does not count where there is one.
TimeToTrain time_to_train(std::span<const ScoredRun> runs);

struct Throughput {
    std::optional<double> minutes;  // TTTa: first run_start to last run_stop; nothing where M' < N
    size_t models = 0;              // M': runs that count
    std::optional<double> accelerators_per_model;  // S
    bool scales_differ = false;                    // S is that of the first
    size_t most_at_once = 0;                       // instances that ran at the same time
    std::optional<double> models_per_day() const;
};

// `required` is N.
Throughput throughput(std::span<const ScoredRun> runs, size_t required);

// Whether S <= T <= M * S, with M the instances that were started, and whether those that ran at once fit the
// system: some published logs state the nodes of all. "" if so, else what is wrong.
std::string scale_problem(double per_model, double accelerators, size_t started, size_t most_at_once);

// What `accelerators` of the same kind would train in a day if they held as many instances side by side as
// fit, each as fast as those that were measured. Not an official score (mlcommons/training_policies issue 508,
// which was not accepted). Nothing where not even one fits.
struct Extrapolation {
    double accelerators = 0;
    double models = 0;  // side by side
    double models_per_day = 0;
};
std::optional<Extrapolation> extrapolated(double minutes_per_model, double per_model, double accelerators);

}  // namespace belay::bench
