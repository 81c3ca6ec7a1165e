// How often a peer may fail to say who it is: guesses and floods of them cost no more than that. Secrets of 256 bits are not
// guessed; what is bounded is the work that looking at them makes.
#pragma once

#include "core/time.h"
#include "server/login/recent.h"

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

namespace belay::server {

struct FailureLimitOptions {
    double burst = 30;                                  // failures at once,
    core::Duration recovery = std::chrono::seconds(2);  // and then one in that time
    size_t peers = 16'384;                              // that are told apart: those that failed last
};

// Thread-safe. A peer is http::peer_group() of its address, with whatever else it is counted by.
class FailureLimit {
  public:
    FailureLimit(const FailureLimitOptions& options, core::Clock& clock)
        : options_(options), clock_(clock), levels_(options.peers) {}

    bool is_reached(const std::string& peer);
    void count(const std::string& peer);
    size_t peers() const;

  private:
    struct Level {
        double failures = 0;
        core::Duration at{};  // monotonic
    };
    double level_now(const std::string& peer);

    const FailureLimitOptions options_;
    core::Clock& clock_;
    mutable std::mutex mutex_;
    Recent<Level> levels_;
};

}  // namespace belay::server
