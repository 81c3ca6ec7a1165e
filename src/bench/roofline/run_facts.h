// What a training run says of itself, as far as the roofline needs it: how fast it was, what it waited for, and
// what a sample needs.
//
// MLLOG carries, of Belay's own trainer, in each `tracked_stats` of rank 0 (means since the one before):
//   samples_per_second, step_seconds, step                  of the whole run
//   fp32_flops_per_second, memory_bytes_per_second          as the model counts them
//   data_wait_seconds, exposed_communication_seconds        of a step
// and once each, where it knows them: global_batch_size, number_of_nodes, accelerators_per_node, number_of_ranks (or
// weights_digest, which lists the ranks), model_parameters_count, flops_per_sample, memory_bytes_per_sample,
// stored_bytes_per_sample. Official logs have none of tracked_stats: there the throughput is that of the epochs,
// train_samples each, less the evaluations.
#pragma once

#include "bench/roofline/model.h"
#include "core/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::bench::roofline {

struct RunFacts {
    std::string source;     // the file or record, for messages
    std::string benchmark;  // empty where it is not said
    // Of the whole run.
    std::optional<double> samples_per_second = {};
    std::string throughput_source = {};
    std::optional<double> ranks = {}, nodes = {}, global_batch = {};
    std::optional<double> train_samples = {}, eval_samples = {};
    // Of one sample; of the model.
    Number flops = {}, memory_bytes = {}, io_bytes = {}, parameter_bytes = {};
    // Of one step, means.
    std::optional<double> step_seconds = {}, data_wait_seconds = {}, exposed_communication_seconds = {};
    std::optional<double> samples = {}, seconds = {};  // that the throughput is of
    // What a part of a step the run waited for data, and for other ranks: 0 to 1.
    std::optional<double> data_wait_share() const;
    std::optional<double> communication_share() const;

    Workload workload() const;
    std::optional<double> samples_per_second_of_rank() const;
};

// Of one log, whatever is in it: lines that are not MLLOG, or have other values than they should, say nothing.
// Errors: kBadInput where no line is MLLOG.
core::Result<RunFacts> facts_of_log(std::string_view log, std::string_view file);

// One row of a log or a record: an event's key and its value, where that is a number.
class FactsReader {
  public:
    explicit FactsReader(std::string source) { facts_.source = std::move(source); }

    void number(std::string_view key, double value);
    void benchmark(std::string_view name) { facts_.benchmark = name; }
    // One row of progress. Nothing where the row does not say it.
    struct Tracked {
        std::optional<double> step, samples_per_second, step_seconds, flops_per_second,
            memory_bytes_per_second, data_wait_seconds, exposed_communication_seconds;
    };
    void tracked(const Tracked& row);
    // How long it took, in milliseconds; evaluations lie within epochs, and are not training.
    void epoch(double milliseconds);
    void evaluation(double milliseconds);

    RunFacts finish() const;

  private:
    struct Sum {
        double over = 0, weight = 0;
        void add(double value, double by) { over += value * by, weight += by; }
        std::optional<double> mean() const {
            return weight > 0 ? std::optional(over / weight) : std::nullopt;
        }
    };
    RunFacts facts_;
    double last_step_ = 0;
    double steps_ = 0;  // of all rows
    Sum rate_, flops_, memory_, data_wait_, communication_, step_seconds_;
    double epochs_ = 0, epoch_seconds_ = 0, evaluation_seconds_ = 0;
    std::optional<double> accelerators_per_node_, parameters_;
};

}  // namespace belay::bench::roofline
