// What a training run says of itself, as far as the roofline needs it: how fast it was, what it waited for, and
// what a sample needs. Its log or its record has said it (compliance/facts.h, compliance/tracked_stats.h).
#pragma once

#include "bench/compliance/check.h"
#include "bench/roofline/model.h"

#include <optional>
#include <string>

namespace belay::bench::roofline {

struct RunFacts {
    std::string source;     // the file or record, for messages
    std::string benchmark;  // empty where it is not said
    // Of the whole run.
    std::optional<double> samples_per_second = {};
    std::optional<double> ranks = {}, nodes = {}, global_batch = {};
    std::optional<double> train_samples = {}, eval_samples = {};
    // Of one sample; of the model.
    Number flops = {}, memory_bytes = {}, io_bytes = {}, parameter_bytes = {};
    // Of one step, means.
    std::optional<double> step_seconds = {}, data_wait_seconds = {}, exposed_communication_seconds = {};
    // The part of a step, 0 to 1, for which the run waited for data, and for other ranks.
    std::optional<double> data_wait_share() const;
    std::optional<double> communication_share() const;

    Workload workload() const;
    std::optional<double> samples_per_second_of_rank() const;
};

// Numbers that cannot be, such as -3 nodes, are not known.
RunFacts run_facts_of(const LogFacts& facts, std::string source);

}  // namespace belay::bench::roofline
