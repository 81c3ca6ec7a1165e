#include "agent/courier/repeater.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace belay::agent {

namespace {

// Longer waits end earlier, and begin anew.
constexpr core::Duration kLongestWait = std::chrono::hours(1);

}  // namespace

Repeater::Repeater(Work work) : work_(std::move(work)), thread_([this] { run(); }) {}

Repeater::~Repeater() {
    {
        std::lock_guard lock(mutex_);
        is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Repeater::wake() {
    {
        std::lock_guard lock(mutex_);
        is_woken_ = true;
    }
    changed_.notify_all();
}

void Repeater::run() {
    std::unique_lock lock(mutex_);
    while (!is_over_) {
        is_woken_ = false;
        lock.unlock();
        const std::optional<core::Duration> next = work_();
        lock.lock();
        auto is_time = [this] { return is_woken_ || is_over_; };
        if (next)
            changed_.wait_for(lock, std::min(*next, kLongestWait), is_time);
        else
            changed_.wait(lock, is_time);
    }
}

}  // namespace belay::agent
