// Work that shall be ended in order: SIGINT, SIGTERM and SIGHUP set a flag instead of ending the program.
//
//   const core::StopOnSignal stop;
//   run_bench(directory, {.stop = stop.flag()});
#pragma once

#include "core/file.h"
#include "core/time.h"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>

namespace belay::core {

inline constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

// One at a time in a process. A signal that comes later than `same` after the first one ends the program as always, in case the
// work does not look at the flag. Until then it is taken for the first one again: what signals a whole process group (scancel,
// timeout, a terminal) reaches a process and the one that passes signals on to it.
class StopOnSignal {
  public:
    explicit StopOnSignal(Duration same = std::chrono::seconds(1));
    ~StopOnSignal();
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;

    const std::atomic<bool>* flag() const;

  private:
    std::array<struct sigaction, kEndingSignals.size()> before_{};
};

// While it lives, these signals come out of a descriptor, for a process that works for this one
// (Work::finish_unless_stalled). Those that are ignored stay so.
class SignalsToPassOn {
  public:
    SignalsToPassOn();
    ~SignalsToPassOn();
    SignalsToPassOn(const SignalsToPassOn&) = delete;
    SignalsToPassOn& operator=(const SignalsToPassOn&) = delete;

    const Descriptor& descriptor() const { return descriptor_; }

  private:
    sigset_t before_{};
    Descriptor descriptor_;
};

}  // namespace belay::core
