// One run against the ceilings: from what its log says, what was measured, and what a person adds.
#pragma once

#include "bench/roofline/machine_json.h"
#include "bench/roofline/model.h"
#include "bench/roofline/run_facts.h"

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace belay::bench::roofline {

// What a job record saw while the run trained, of all ranks together.
struct Moved {
    double seconds = 0;                        // that it saw
    std::optional<double> storage_bytes = {};  // that processes of the job fetched from storage
    std::optional<double> network_bytes = {};  // that interfaces of its nodes sent, lo included
    std::optional<double> memory_active =
        {};  // of GPUs: the part of the time in which memory sent or received, 0 to 1
    // Of vetting: rates of a node, by resource.
    Machine vetted = {};
};

// What a person says, which goes before all else.
struct Given {
    std::optional<double> ranks, batch, flops, memory_bytes, parameter_bytes, io_bytes,
        throughput;      // batch: global
    Machine rates = {};  // of one rank
};

struct RunReport {
    RunFacts facts;
    Analysis analysis;
};

// Whose rates count, first to last: given, measured, vetted on the run's nodes. Errors: as analyze().
core::Result<RunReport> report_on(RunFacts facts, const std::optional<MeasuredMachine>& measured,
                                  const Given& given, const std::optional<Moved>& moved);

// Bytes on storage of a sample, from what lies in its directory and how many samples the run says that it has.
Number stored_bytes_of_sample(double bytes, const RunFacts& facts);

nlohmann::ordered_json to_json(const RunReport& report);

}  // namespace belay::bench::roofline
