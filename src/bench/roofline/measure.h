// What this machine gives one rank: F, B_m and B_io, measured.
#pragma once

#include "bench/roofline/cold_read.h"
#include "bench/roofline/model.h"
#include "core/error.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace belay::bench::roofline {

struct MeasureOptions {
    int threads = 0;  // 0: one for each CPU that this process may use
    size_t gemm_size = 1024;
    size_t array_bytes = 0;  // of STREAM; 0: four times the last cache, and at least 64 MiB
    int repeats = 5;
    std::optional<std::filesystem::path> data = {};  // whose reading is measured; nothing: B_io stays unknown
    ColdReadOptions reading = {};
    // All ranks meet here before each measurement, so that they share what they share in training; nothing for
    // one.
    std::function<core::Result<>()> meet = {};
};

struct Measured {
    Machine machine;
    int threads = 0;
    std::optional<ColdRead> read = {};
};

// A GEMM in single precision, in which our models train; STREAM's triad; a cold read. Takes some seconds, and keeps
// OpenBLAS's threads. Errors: kBadInput for options out of range and for data, kSystem.
core::Result<Measured> measure_machine(const MeasureOptions& options);

// A read as a rate: at most that, where it did not come from storage alone.
Number rate_of(const ColdRead& read);

// The rates of one of `ranks` that share, equally, what was measured of all of them together.
Machine shared_by(Machine machine, double ranks);

// From each rank's own: the rate of the slowest, since in data-parallel training all wait for it, with what is
// least certain of them.
Number slowest_of(std::span<const Number> ranks);

// Of CPUs that `ranks` ranks may use, those of the rank `number` of them. `per_rank`: how many a rank has, by the launcher; 0:
// an equal share.
std::vector<int> cpus_of_rank(const std::vector<int>& usable, int number, int ranks, int per_rank);

}  // namespace belay::bench::roofline
