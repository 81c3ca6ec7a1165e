// A thread that does something again and again: after as long as that says, or when it is woken.
//
//   Repeater repeater([&]() -> std::optional<core::Duration> { send(); return 5s; });
//   repeater.wake();                     // there is something to do now
#pragma once

#include "core/time.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace belay::agent {

class Repeater {
  public:
    // In how long it shall be done again; nothing: when it is woken.
    using Work = std::function<std::optional<core::Duration>()>;

    explicit Repeater(Work work);
    Repeater(const Repeater&) = delete;
    Repeater& operator=(const Repeater&) = delete;
    // Waits for the end of what is being done.
    ~Repeater();

    void wake();

  private:
    void run();

    Work work_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_woken_ = false;
    bool is_over_ = false;
    std::thread thread_;  // the last member: it uses the others
};

}  // namespace belay::agent
