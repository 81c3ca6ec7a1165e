// Work that shall be ended in order: SIGINT, SIGTERM and SIGHUP set a flag instead of ending the program.
//
//   const core::StopOnSignal stop;
//   run_bench(directory, {.stop = stop.flag()});
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace belay::core {

// One at a time in a process. The second signal of a kind ends the program as always, in case the work does not look at the flag.
class StopOnSignal {
  public:
    StopOnSignal();
    ~StopOnSignal();
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;

    const std::atomic<bool>* flag() const;

  private:
    static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
    std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace belay::core
