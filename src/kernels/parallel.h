// Threads that measure together: each on a CPU of its own, timed between moments at which all of them meet.
#pragma once

#include "core/error.h"

#include <barrier>
#include <chrono>
#include <functional>
#include <vector>

namespace belay::kernels {

// The CPUs that this process may run on (its affinity mask), in order; never empty.
std::vector<int> usable_cpus();

// The CPU of each of `threads` threads: spread evenly over `cpus`, and only with more threads than CPUs
// several on one.
std::vector<int> cpus_for_threads(int threads, const std::vector<int>& cpus);

// Runs body(0) … body(count - 1) at the same time, each on a thread of its own that stays on its CPU of
// cpus_for_threads(), so that memory which it touches first is near it in all that follows. All threads have
// ended when the call returns. Errors: kSystem if a thread cannot be started or placed; then none has run.
core::Result<> run_on_threads(int count, const std::function<void(int)>& body);

// Where the threads of a measurement meet, to be timed. The last to arrive reads the clock before anyone goes
// on: starting and ending threads, and what they do between two laps, are no part of a lap.
class Laps {
  public:
    explicit Laps(int threads) : barrier_(threads, {&times_}) {}
    // Every thread calls both, around the timed part.
    void begin() { barrier_.arrive_and_wait(); }
    void end() { barrier_.arrive_and_wait(); }
    // To be called when no thread is in a lap.
    std::vector<double> seconds() const;

  private:
    using Times = std::vector<std::chrono::steady_clock::time_point>;
    struct ReadClock {
        Times* times;
        void operator()() noexcept { times->push_back(std::chrono::steady_clock::now()); }
    };
    Times times_;  // begin, end, begin, end …
    std::barrier<ReadClock> barrier_;
};

}  // namespace belay::kernels
