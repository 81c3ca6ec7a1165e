// A machine's numbers as JSON: what belay-all-reduce prints, and what is kept for other runs.
//
//   {"schema": "belay-roofline-machine-1", "ranks": 4, "nodes": 2, "threads": 1,
//    "rates": {"compute": {"value": 5.2e10, "sense": "value", "source": "GEMM ..."}, "memory": ..., "network": ..., "io": ...},
//    "all_reduce": {"bytes": 590960, "repeats": 20, "seconds": 0.0011, "median_seconds": 0.0013}}
//
// A rate that is not known is null. FLOP/s and bytes/s of one rank.
#pragma once

#include "bench/roofline/model.h"
#include "core/error.h"

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace belay::bench::roofline {

inline constexpr std::string_view kMachineSchema = "belay-roofline-machine-1";

struct AllReduce {
    uint64_t bytes = 0;  // that each rank gave, and got
    int repeats = 0;
    double seconds = 0, median_seconds = 0;  // of the slowest rank: in the best repeat, and in the middle one
};

struct MeasuredMachine {
    Machine machine;
    int ranks = 1, nodes = 1;
    int threads = 0;  // of one rank; 0: not measured with any
    std::optional<AllReduce> all_reduce = {};
};

// 2 (R - 1)/R bytes / seconds, in bytes/s.
double bus_bandwidth(double bytes, double seconds, int ranks);

nlohmann::ordered_json to_json(const Number& number);
nlohmann::ordered_json to_json(const MeasuredMachine& measured);
// Errors: kBadInput where it is something else, or holds a number that cannot be.
core::Result<MeasuredMachine> parse_machine(std::string_view text, std::string_view file);

}  // namespace belay::bench::roofline
