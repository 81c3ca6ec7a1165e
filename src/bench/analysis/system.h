// A system at one scale: its runs of one benchmark with one batch size, and what they come to.
#pragma once

#include "bench/analysis/run.h"
#include "bench/analysis/statistics.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

struct SystemResult {
    std::string name;    // of the system, or the platform that the logs name
    std::string family;  // systems that differ in scale only: family_of(name)
    std::string submitter, benchmark, division;
    std::string scaling;  // "strong", or "weak": many instances at once
    std::optional<double> units, nodes, batch;
    std::vector<Run> runs;
    std::vector<size_t> counted;     // runs that the means are of
    size_t wanted = 0;               // N of the benchmark; 0: not known
    std::vector<std::string> notes;  // what is missing or was changed

    Spread seconds, staging, epochs_seconds, evaluation, training, other, epochs, epoch_seconds, unit_hours;
    Spread epoch_throughput, sample_throughput, train_throughput, evaluation_throughput, staging_throughput;
    std::optional<double> samples_per_epoch, train_samples;
    std::optional<double> data_wait, exposed_communication;  // seconds per step
    std::optional<double> staging_per_epoch;                 // T_staging / T_epoch
    std::optional<double> evaluation_share;                  // evaluation / T_run
    std::optional<double> model_error;                       // mean of (model - T_run) / T_run
    std::optional<LogComponents> variability;
    std::string variability_missing;
    // Throughput per unit over that of the family's smallest scale; 1 there.
    std::optional<double> efficiency;

    // Of weak scaling: first start to last stop of the runs with success.
    std::optional<double> time_to_train_all;
    std::string label() const;  // "Fugaku, 512 units, batch 512"
};

// What is left of a system's name without its scale: "fugaku" of "fugaku_512xA64FX_tensorflow_closed", "node x4" of
// "node x4". A guess, for submissions whose names hold the scale: the part before the first "_" or "-" in which no digit
// stands at the end; names without those are kept.
std::string family_of(std::string_view name);

struct GroupOptions {
    // N of a benchmark; nothing where it is not known.
    std::function<std::optional<size_t>(std::string_view benchmark)> runs_wanted;
    // Systems whose runs are repeated `factor` times (adjust()), by name.
    std::vector<std::pair<std::string, double>> adjustments;
};

// Systems in the order benchmark, family, units, batch, name. Each input is in one of them.
std::vector<SystemResult> group_runs(std::span<const RunInput> inputs, const GroupOptions& options);

// The runs of a benchmark at once: whether two of them overlap in time.
bool overlap(std::span<const Run> runs);

}  // namespace belay::bench
