#include "core/stop_on_signal.h"

#include "core/fork.h"
#include "core/process.h"

#include <csignal>
#include <functional>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

// In a child: gtest's own process keeps its handlers.
int status_of(const std::function<int()>& body) {
    const ExitStatus status = fork_process({.signals = ChildSignals::kDefault}, body).value().wait().value();
    return status.signal != 0 ? -status.signal : status.code;
}

TEST(core, the_first_signal_sets_a_flag_and_a_later_one_ends_the_program) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
        EXPECT_EQ(status_of([&] {
                      const StopOnSignal stop;
                      if (*stop.flag()) return 1;
                      raise(signal);
                      return *stop.flag() ? 0 : 2;
                  }),
                  0);
        EXPECT_EQ(status_of([&] {
                      const StopOnSignal stop(Duration::zero());
                      raise(signal);
                      raise(signal);
                      return 3;
                  }),
                  -signal);
    }
}

TEST(core, a_signal_that_comes_twice_at_once_is_one) {
    EXPECT_EQ(status_of([&] {
                  const StopOnSignal stop(std::chrono::hours(1));
                  raise(SIGTERM);
                  raise(SIGTERM);
                  raise(SIGHUP);
                  return *stop.flag() ? 0 : 2;
              }),
              0);
}

TEST(core, what_was_set_before_is_set_again) {
    EXPECT_EQ(status_of([] {
                  std::signal(SIGINT, SIG_IGN);
                  {
                      const StopOnSignal stop;
                  }
                  raise(SIGINT);
                  {
                      const StopOnSignal stop;
                      raise(SIGINT);
                      if (*stop.flag()) return 1;
                  }
                  {
                      const StopOnSignal stop;
                  }
                  raise(SIGTERM);
                  return 2;
              }),
              -SIGTERM);
}

}  // namespace
}  // namespace belay::core
