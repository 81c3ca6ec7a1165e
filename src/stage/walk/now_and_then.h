// A count to which threads add, told to somebody who shows it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

namespace belay::stage {

// Tells ten times a second at most, from whichever thread adds, and never from two at once. Nothing is counted
// where nobody listens.
class NowAndThen {
  public:
    explicit NowAndThen(const std::function<void(uint64_t)>& tell) : tell_(tell) {}

    void add(uint64_t more) {
        if (!tell_) return;
        count_ += more;
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock || Clock::now() - told_ < kBetween) return;
        tell_(count_);
        told_ = Clock::now();
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr Clock::duration kBetween = std::chrono::milliseconds(100);

    const std::function<void(uint64_t)>& tell_;
    std::atomic<uint64_t> count_ = 0;
    std::mutex mutex_;
    Clock::time_point told_ = Clock::now() - kBetween;
};

}  // namespace belay::stage
