// A limit on how many calls a second go to a file system that others use too.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

namespace belay::stage {

// Shared by threads. What was not used is saved for a tenth of a second at most.
class Pace {
  public:
    // 0: no limit.
    explicit Pace(double most_per_second) : most_per_second_(most_per_second) {}

    // Returns when `calls` more may be made.
    void wait_for(size_t calls) {
        if (most_per_second_ <= 0) return;
        using Clock = std::chrono::steady_clock;
        Clock::time_point turn;
        {
            const std::lock_guard lock(mutex_);
            free_ = std::max(free_, Clock::now() - std::chrono::milliseconds(100));
            turn = free_;
            free_ += std::chrono::duration_cast<Clock::duration>(
                std::chrono::duration<double>(static_cast<double>(calls) / most_per_second_));
        }
        std::this_thread::sleep_until(turn);
    }

  private:
    double most_per_second_;
    std::mutex mutex_;
    std::chrono::steady_clock::time_point free_ = std::chrono::steady_clock::now();  // for the next call
};

}  // namespace belay::stage
