// The tests of belay stage bench but the emulation of training: each writes what it needs, measures, and
// leaves the rest to the removal of the directory.
#pragma once

#include "core/directory.h"
#include "stage/bench/bench.h"

#include <chrono>
#include <map>
#include <span>

namespace belay::stage {

using BenchClock = std::chrono::steady_clock;
inline double bench_seconds_since(BenchClock::time_point begin) {
    return std::chrono::duration<double>(BenchClock::now() - begin).count();
}

// One run in its directory.
struct BenchRun {
    const core::Directory& directory;
    const BenchOptions& options;
    BenchReport& report;
    std::map<std::string, uint64_t> written = {};  // bytes of large files that are there already, by name

    void say(std::string_view phase) const {
        if (options.progress) options.progress(phase);
    }
    bool is_stopped() const {
        return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
    }
};

// What the threads of a test did, each timed by itself.
class BenchThread {
  public:
    // One operation, timed. Errors: its own.
    template <typename Operation>
    core::Result<> time(uint64_t bytes, const Operation& operation) {
        const auto begin = BenchClock::now();
        BELAY_CHECK(operation());
        latencies_.push_back(bench_seconds_since(begin));
        bytes_ += bytes;
        return {};
    }

  private:
    friend core::Result<BenchResult> measure_threads(
        const BenchRun&, std::string, std::string,
        const std::function<core::Result<>(size_t, BenchThread&)>&);
    std::vector<double> latencies_;
    uint64_t bytes_ = 0;
    double done_ = 0;
};

inline constexpr std::string_view kBytesUnit = "bytes/s";
inline constexpr std::string_view kOperationsUnit = "operations/s";

// Runs the body in each thread. `unit` is one of these. Errors: those of the body.
core::Result<BenchResult> measure_threads(
    const BenchRun& run, std::string name, std::string unit,
    const std::function<core::Result<>(size_t thread, BenchThread&)>& body);

// Opens for reading after the page cache was dropped; `cache` says how that went, of several files together.
class CacheDrop {
  public:
    core::Result<BenchFile> open(const BenchRun& run, const std::string& name);
    std::string describe() const;

  private:
    uint64_t direct_ = 0;
    uint64_t cached_ = 0;
    uint64_t unknown_ = 0;
    double resident_ = 0;  // the sum of the shares
};

// Writes a file of that size where it is not there yet, by blocks, and syncs it.
core::Result<> write_bench_file(BenchRun& run, const std::string& name, uint64_t bytes);

struct BenchTest {
    std::string_view name;
    core::Result<> (*run)(BenchRun& run);
};
std::span<const BenchTest> bench_workloads();

core::Result<> emulate_training(BenchRun& run);
// Of BenchOptions::given, in whose directory the run is. Errors: kBadInput where it does not hold tar shards,
// or too few samples.
core::Result<> emulate_given_training(BenchRun& run);

}  // namespace belay::stage
