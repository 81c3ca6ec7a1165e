#include "http/workers.h"

#include <algorithm>
#include <utility>

namespace belay::http {

Workers::Workers(size_t threads, size_t most_waiting) : most_waiting_(most_waiting) {
    for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i) threads_.emplace_back([this] { work(); });
}

Workers::~Workers() {
    {
        std::lock_guard lock(mutex_);
        ending_ = true;
    }
    something_to_do_.notify_all();
}

bool Workers::try_post(std::function<void()> job) {
    {
        std::lock_guard lock(mutex_);
        if (jobs_.size() >= most_waiting_) return false;
        jobs_.push_back(std::move(job));
    }
    something_to_do_.notify_one();
    return true;
}

void Workers::post(std::function<void()> job) {
    {
        std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    something_to_do_.notify_one();
}

size_t Workers::waiting() const {
    std::lock_guard lock(mutex_);
    return jobs_.size();
}

void Workers::work() {
    for (;;) {
        std::function<void()> job;
        {
            std::unique_lock lock(mutex_);
            something_to_do_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
            if (jobs_.empty()) return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        job();
    }
}

std::unexpected<Refusal> workers_are_busy() {
    return refuse(503, "the server has too much to do", "try again in a moment");
}

}  // namespace belay::http
