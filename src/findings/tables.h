// Tables that are made once before the rules run, so that no rule reads the millions of rows of a long job:
// of GPUs (from the digest of a record, which the face hands in) and of hosts, processes and steps (from
// SQL).
#pragma once

#include "core/error.h"
#include "findings/run.h"
#include "record/archive/archive.h"
#include "schema/schema.h"

#include <functional>
#include <string>
#include <vector>

namespace belay::findings {

inline constexpr double kMostBuckets = 600;  // rows of a series

// Fills the three tables of GPUs (record/tables/gpu_digest.h) by Archive::add(); does nothing for a record
// without GPUs.
using PrepareGpus = std::function<core::Result<>(record::Archive&)>;

// When the run was and in which buckets it is followed; the tables of GPUs are made on the way. Errors: as
// prepare().
core::Result<Run> find_run(record::Archive& archive, const PrepareGpus& prepare_gpus);

// Makes all prepared tables of the archive and says what the run was like. Errors: kSystem, and those of
// `prepare_gpus`, which may be empty.
core::Result<Run> prepare(record::Archive& archive, const PrepareGpus& prepare_gpus);

// The periodic tables of the record from which these are made: whose coverage counts for them.
std::vector<std::string> tables_behind(const std::vector<std::string>& tables);

// What a prepared table consists of, for people who write rules.
struct PreparedColumn {
    std::string name;
    std::string unit;
    std::string doc;
};
struct PreparedTable {
    std::string name;
    std::string doc;
    std::vector<PreparedColumn> columns;
};
std::vector<PreparedTable> prepared_tables();

}  // namespace belay::findings
