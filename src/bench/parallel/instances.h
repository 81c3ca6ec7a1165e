// Many trainings at once within one allocation, for a measurement of throughput (MLPerf HPC's weak scaling): the steps
// that are started. Pure.
#pragma once

#include "core/error.h"
#include "core/process.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace belay::bench {

struct Instance {
    std::vector<std::string> argv;
    std::filesystem::path output;  // the log, as a package of results wants it named: result_0.txt
};

// `count` steps that share the nodes and tasks of the allocation of `environment` evenly: whole nodes for each, or
// several on a node. Each runs `training` ("…/belay-train", MODEL, its options) with a seed of its own, counted
// on from the --seed there or from 1: a result whose seed another one has does not count. Errors: kBadInput outside
// of an allocation, or if nodes or tasks cannot be shared so.
core::Result<std::vector<Instance>> plan_instances(const core::Environment& environment, int count,
                                                   const std::filesystem::path& results,
                                                   std::span<const std::string> training);

}  // namespace belay::bench
