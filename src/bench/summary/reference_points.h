// The epochs that the reference implementations needed to converge, per round, benchmark and global batch size.
//
// Numbers from the files hpc_ROUND/rcps_BENCHMARK.json of the official RCP checker (mlcommons/logging 4.1.59,
// mlperf_logging/rcp_checker). OpenFold counts samples, as its epoch_num does.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace belay::bench {

struct ReferenceRuns {
    std::string_view benchmark;
    int first_round = 1, last_round = 3;  // 2: rules 2.0
    double batch = 0;                     // samples
    std::span<const double> epochs;       // of each run, in the order of the source
};

// Those of one round, by batch size; none for a benchmark without any.
std::vector<ReferenceRuns> reference_runs(int round, std::string_view benchmark);

// N: runs of a time to train, and the fewest instances of a throughput. Nothing for a benchmark that the
// round does not have (benchmark_meta.py there).
std::optional<size_t> required_runs(int round, std::string_view benchmark);

// What epoch_num counts in a benchmark: "epochs" or "samples".
std::string_view convergence_unit(std::string_view benchmark);

// 3 for "3.0.0". Nothing for rules that are not those of a round of MLPerf HPC with reference points.
std::optional<int> round_of_rules(std::string_view ruleset);

}  // namespace belay::bench
