// What a job record says of a training run, for `belay bench roofline`.
#pragma once

#include "bench/roofline/report.h"
#include "record/archive/archive.h"

#include <string>

namespace belay::cli {

// What the run's log said, as far as the record keeps it. Errors: kSystem; kBadInput where no program in it logged
// training.
core::Result<bench::roofline::RunFacts> facts_of_record(record::Archive& archive, const std::string& name);

// What its nodes moved between the first and the last line of training, and what vetting measured on them.
// `ranks_per_node`: what a node's CPUs gave is shared by so many.
core::Result<bench::roofline::Moved> moved_in_record(record::Archive& archive, double ranks_per_node);

// Bytes/s or FLOP/s of a value in the unit of a vetting row; nothing for a unit that is neither.
std::optional<double> rate_in_unit(double value, std::string_view unit);

}  // namespace belay::cli
